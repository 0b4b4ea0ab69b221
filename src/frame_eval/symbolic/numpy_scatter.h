// Elements that a mask selects, and stores to those that index arrays name, by loops of the program
// itself: in captured loops, where a call of NumPy would cost more than the work.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbolic/numpy_indexing.h"

namespace numlift::frame_eval {

// array[mask]. Null: NumPy is to do it.
Sym gather_by_mask(Tracer& tracer, const ArrayValue& array, const ArrayValue& mask);
// The places along the axis of a vector at which `mask` is true.
Sym places_of_mask(Tracer& tracer, NodeId mask);
// array[mask] = value, of at least one axis. False: NumPy is to do it.
bool scatter_by_mask(Tracer& tracer, ArrayValue& array, const ArrayValue& mask,
                     const Operand& value);

// Index arrays for the first axes of an array; the other axes are taken whole.
struct IndexedPlaces {
  std::vector<NodeId> indices;  // int64, of all `at` dims; they lie in their axes, from -size on
  std::vector<SizeExpr> at;     // dims of the index arrays together
  std::vector<SizeExpr> dims;   // of what is indexed: `at`, then the other axes
};
// nullopt: NumPy is to do it. The program checks the indices.
std::optional<IndexedPlaces> indexed_places(Tracer& tracer, const ArrayValue& array,
                                            const IndexKey& key);
// `value` has places.dims, or rank 0. With `update`: array[places] = update(array[places], value),
// one after the other, also where places are named twice.
void scatter(Tracer& tracer, ArrayValue& array, const IndexedPlaces& places, NodeId value,
             std::optional<Op> update);
// numpy.<ufunc>.at(*args). False: NumPy is to do it.
bool update_at(Tracer& tracer, const std::string& ufunc, std::span<const Sym> args);

}  // namespace numlift::frame_eval
