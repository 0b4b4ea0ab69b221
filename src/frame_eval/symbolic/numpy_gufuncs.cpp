#include "symbolic/numpy_gufuncs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "numlift/numpy_shim/linear_algebra.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_products.h"
#include "symbolic/numpy_ufuncs.h"

namespace numlift::frame_eval {

using numpy_shim::kLinearAlgebra;
using numpy_shim::LinearAlgebra;

namespace {

// Core dims by number and the batch axis, from the operands' dims.
class CoreDims {
 public:
  explicit CoreDims(Tracer& tracer) : tracer_(tracer) {}

  // False: the sizes do not fit together.
  bool add(const std::vector<CoreAxis>& axes, const std::vector<SizeExpr>& dims) {
    size_t axis = 0;
    if (dims.size() > static_cast<size_t>(present_axes(axes)) && !agree(&batch_, dims[axis++]))
      return false;
    return std::all_of(axes.begin(), axes.end(), [&](const CoreAxis& core) {
      return core.is_absent || agree(&sizes_[core.number], dims[axis++]);
    });
  }

  std::vector<SizeExpr> result(const std::vector<CoreAxis>& axes) const {
    std::vector<SizeExpr> dims;
    if (batch_) dims.push_back(*batch_);
    for (const CoreAxis& core : axes) {
      if (!core.is_absent) dims.push_back(*sizes_.at(core.number));
    }
    return dims;
  }

 private:
  bool agree(std::optional<SizeExpr>* known, const SizeExpr& dim) {
    if (*known) return tracer_.decide_equal(**known, dim, "core sizes of a product agree");
    *known = dim;
    return true;
  }

  Tracer& tracer_;
  std::optional<SizeExpr> batch_;
  std::map<int, std::optional<SizeExpr>> sizes_;
};

uint32_t loop_index(Graph& graph, const NumpyLoopInfo& info) {
  auto& loops = graph.loops;
  const auto found = std::find_if(loops.begin(), loops.end(), [&](const NumpyLoopInfo& known) {
    return known.name == info.name && known.core == info.core;
  });
  const auto index = static_cast<uint32_t>(found - loops.begin());
  if (found == loops.end()) loops.push_back(info);
  return index;
}

// Of every operand: the core axes it has. Empty: more than one batch axis, or too few axes.
std::vector<int> core_ranks(const PyUFuncObject* gufunc, std::span<const Operand> operands) {
  std::vector<int> ranks;
  for (size_t i = 0; i < operands.size(); ++i) {
    const int rank = operands[i].rank(), full = gufunc->core_num_dims[i];
    if (rank > full + 1) return {};
    ranks.push_back(std::min(rank, full));
  }
  return ranks;
}

}  // namespace

Sym call_gufunc(Tracer& tracer, BorrowedRef gufunc, std::span<const Sym> values,
                std::optional<DType> dtype) {
  if (tracer.leaves_calls) return nullptr;
  const auto* info = reinterpret_cast<const PyUFuncObject*>(gufunc.get());
  std::vector<Operand> operands;
  std::vector<OperandType> types;
  for (const Sym& value : values) {
    if (value->kind != SymKind::kArray) return nullptr;
    operands.push_back(as_operand(tracer, value, callable_name(gufunc)));
    types.push_back(operands.back().type);
  }
  const std::vector<int> ranks = core_ranks(info, operands);
  const auto types_of_loop = numpy_shim::resolve_ufunc(gufunc, types, dtype);
  if (ranks.size() != operands.size() || !types_of_loop) return nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!numpy_shim::can_cast(types[i].dtype, types_of_loop->inputs[i], "same_kind"))
      return nullptr;
  }
  const auto loop = numpy_shim::gufunc_loop(gufunc, *types_of_loop, ranks);
  if (!loop) return nullptr;
  CoreDims dims(tracer);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!dims.add(loop->core[i], operands[i].dims)) return nullptr;
  }
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < operands.size(); ++i)
    nodes.push_back(cast_operand(tracer, operands[i], types_of_loop->inputs[i]));
  const DType result = types_of_loop->outputs[0];
  const std::vector<SizeExpr> result_dims = dims.result(loop->core.back());
  const bool has_conditions = is_float(result) || is_complex(result);
  const ScopedFpChecks watched(tracer, has_conditions ? tracer.fp_checks : uint8_t{kFpNone});
  const NodeId node =
      tracer.append(Op::kGufunc, std::move(nodes), LoopAttr{loop_index(tracer.graph(), *loop)},
                    result_type_for(result, result_dims, result_dims.empty()));
  return new_result(tracer, node);
}

// ---------------------------------------------------------------- numpy.linalg

namespace {

Ref linear_algebra_loop(const char* name) {
  static PyObject* const module =
      checked(PyImport_ImportModule("numpy.linalg._umath_linalg")).release();
  return checked(PyObject_GetAttrString(module, name));
}

bool is_lapack_dtype(DType dtype) {
  return (is_float(dtype) && dtype != DType::kFloat16) || is_complex(dtype);
}

// NumPy computes float32 in float64, and complex64 in complex128.
DType computed_in(DType dtype) { return is_complex(dtype) ? DType::kComplex128 : DType::kFloat64; }

}  // namespace

Sym call_linear_algebra(Tracer& tracer, const NumpyArguments& arguments) {
  const std::vector<Sym>& values = arguments.positional;
  const auto rank_of = [&](size_t operand) {
    const ArrayValue* array = operand < values.size() ? as_array(values[operand]) : nullptr;
    return array == nullptr ? 0 : array->type.rank();
  };
  const auto row = std::find_if(
      std::begin(kLinearAlgebra), std::end(kLinearAlgebra), [&](const LinearAlgebra& one) {
        return one.path == arguments.entry->path && one.ranks[0] == rank_of(0) &&
               one.ranks[1] == rank_of(1) && values.size() == (one.ranks[1] == 0 ? 1u : 2u);
      });
  const bool is_plain = row != std::end(kLinearAlgebra) && arguments.keywords.empty() &&
                        std::all_of(values.begin(), values.end(), [&](const Sym& value) {
                          const DType dtype = as_array(value)->type.dtype;
                          return is_lapack_dtype(dtype) && dtype == as_array(values[0])->type.dtype;
                        });
  if (!is_plain) return call_extern(tracer, arguments);
  const DType dtype = as_array(values[0])->type.dtype, wide = computed_in(dtype);
  std::vector<Sym> operands = values;
  for (Sym& operand : operands) {
    if (dtype != wide)
      operand = tracer.new_array(cast(tracer, tracer.read(*as_array(operand)), wide));
  }
  Sym made;
  {
    const ScopedFpChecks watched(tracer, row->raises ? uint8_t{kFpInvalid} : tracer.fp_checks);
    made = call_gufunc(tracer, linear_algebra_loop(row->gufunc), operands);
  }
  if (!made) return call_extern(tracer, arguments);
  if (dtype == wide) return made;
  const NodeId result = made->kind == SymKind::kArray ? tracer.read(*as_array(made))
                                                      : static_cast<const ScalarValue&>(*made).node;
  return new_result(tracer, cast(tracer, result, dtype));
}

}  // namespace numlift::frame_eval
