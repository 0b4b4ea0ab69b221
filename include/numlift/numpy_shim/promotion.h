// Which loop a ufunc runs for given operand types: asked of NumPy (ufunc.resolve_dtypes,
// np.result_type) once per question, then remembered.
#pragma once

#include "numlift/py/python.h"

#include <optional>
#include <span>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/py/ref.h"

namespace numlift::numpy_shim {

// An operand as promotion sees it (NEP 50).
struct OperandType {
  DType dtype = DType::kFloat64;
  bool weak = false;  // a Python int, float or complex (bool is not weak)
  bool operator==(const OperandType&) const = default;
};

struct LoopTypes {
  std::vector<DType> inputs, outputs;
};

// nullopt: NumPy raises for these types, or the loop has a dtype that is not ours. `dtype`: the
// ufunc's dtype= argument.
std::optional<LoopTypes> resolve_ufunc(BorrowedRef ufunc, std::span<const OperandType> operands,
                                       std::optional<DType> dtype = std::nullopt);
// As np.result_type; nullopt as above.
std::optional<DType> result_type(std::span<const OperandType> operands);
bool can_cast(DType from, DType to, const char* casting);

// NumPy's own inner loop of a ufunc for these loop types, for Op::kNumpyLoop. nullopt when it needs
// the GIL (object loops) or has no plain inner loop.
std::optional<NumpyLoopInfo> inner_loop(BorrowedRef ufunc, const LoopTypes& types);
// The same of a generalized ufunc of one result, for Op::kGufunc. `ranks`: of the operands without
// batch axes; a rank below the loop's means that its optional axes are absent.
std::optional<NumpyLoopInfo> gufunc_loop(BorrowedRef ufunc, const LoopTypes& types,
                                         std::span<const int> ranks);

}  // namespace numlift::numpy_shim
