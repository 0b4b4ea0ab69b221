// Index expressions as NumPy reads them.
#pragma once

#include <optional>
#include <vector>

#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

struct IndexKey {
  enum class Kind : uint8_t {
    kBasic,     // integers, slices, None, Ellipsis
    kMask,      // one boolean array and nothing else
    kAdvanced,  // integer arrays, lists, run-time NumPy integers, booleans, mixtures
  };
  Kind kind = Kind::kBasic;
  std::vector<Sym> items;
  bool data_sized = false;  // kMask, kAdvanced: the result's size depends on the values of an index
};
IndexKey parse_index(Tracer& tracer, const Sym& key);
// Parts of an index: what basic indexing takes, and what leaves the axes that they stand for.
bool is_basic_index(const Sym& value);
bool keeps_axes(const Sym& value);
bool is_ellipsis(const Sym& value);

// The elements that a basic index names, of rank 0 for one element. `element`: integers for all
// axes and nothing else, which gives a scalar and not an array.
Sym basic_view(Tracer& tracer, const ArrayValue& array, const IndexKey& key, bool* element);
// x[index] along axis 0.
Sym item_at(Tracer& tracer, const ArrayValue& array, int64_t index);

}  // namespace numlift::frame_eval
