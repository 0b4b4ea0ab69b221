// Broadcasting and memory order, as NumPy's nditer has them.
#include <algorithm>

#include "numlift/support/check.h"
#include "symbolic/numpy_common.h"

namespace numlift::frame_eval {

namespace {

bool is_one(const SizeExpr& size) { return size.constant() == 1; }

std::string axis_reason(std::string_view what, size_t axis) {
  return fmt::format("operands of {} have fitting sizes along axis {}", what, axis);
}

std::string dims_text(const std::vector<SizeExpr>& dims) {
  std::string text = "(";
  for (const SizeExpr& dim : dims) text += dim.text() + ",";
  return text + ")";
}

}  // namespace

std::vector<SizeExpr> broadcast_dims(Tracer& tracer, std::span<const std::vector<SizeExpr>> all,
                                     std::string_view what) {
  size_t rank = 0;
  for (const auto& dims : all) rank = std::max(rank, dims.size());
  std::vector<SizeExpr> result(rank, SizeExpr(1));
  for (const auto& dims : all) {
    for (size_t k = 0; k < dims.size(); ++k) {
      SizeExpr& known = result[rank - dims.size() + k];
      const SizeExpr dim = tracer.simplify(dims[k]);
      known = tracer.simplify(known);
      if (known == dim || is_one(dim)) continue;
      if (is_one(known)) {
        known = dim;
        continue;
      }
      const std::string reason = axis_reason(what, rank - dims.size() + k);
      if (tracer.decide_equal(known, dim, reason)) continue;
      if (tracer.decide_equal(dim, 1, reason)) continue;
      if (tracer.decide_equal(known, 1, reason)) {
        known = dim;
        continue;
      }
      throw_break("would_raise",
                  fmt::format("{}: operands could not be broadcast together: {} and {}", what,
                              dims_text(result), dims_text(dims)));
    }
  }
  for (SizeExpr& dim : result) dim = tracer.simplify(dim);
  return result;
}

bool same_dims(Tracer& tracer, const std::vector<SizeExpr>& a, const std::vector<SizeExpr>& b,
               std::string_view what) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!tracer.decide_equal(a[k], b[k], axis_reason(what, k))) return false;
  }
  return true;
}

NodeId broadcast_node(Tracer& tracer, NodeId node, const std::vector<SizeExpr>& dims,
                      bool keep_scalar) {
  const Type type = tracer.type_of(node);
  if (type.dims.empty() && (keep_scalar || dims.empty())) return node;
  const size_t rank = dims.size(), own = type.dims.size();
  NUMLIFT_CHECK(own <= rank, "rank {} does not broadcast to {}", own, rank);
  bool same = own == rank;
  IndexMap map;
  for (size_t k = 0; k < own; ++k) {
    const SizeExpr dim = tracer.simplify(type.dims[k]);
    const SizeExpr target = tracer.simplify(dims[rank - own + k]);
    if (dim == target ||
        (!is_one(dim) && tracer.decide_equal(dim, target, "sizes that broadcast"))) {
      same = same && dim == target;
      map.axes.push_back({0, 1, static_cast<int>(rank - own + k)});
    } else {
      // Broadcasting was decided before: this size is 1.
      map.axes.push_back({0, 0, -1});
      same = false;
    }
  }
  if (same) return node;
  return tracer.append(Op::kView, {node}, ViewAttr{std::move(map)}, array_type(type.dtype, dims));
}

// ---------------------------------------------------------------- memory order

AxisOrder fortran_order(int rank) {
  AxisOrder order;
  for (int axis = rank; axis-- > 0;) order.push_back(static_cast<uint8_t>(axis));
  return order;
}

namespace {

// Strides fall from the first axis to the last one whatever the sizes are: such operands never ask
// for another order than C.
bool falls_in_c_order(Tracer& tracer, const OrderOperand& operand) {
  std::optional<SizeExpr> expected;
  for (size_t k = operand.dims.size(); k-- > 0;) {
    const SizeExpr dim = tracer.simplify(operand.dims[k]);
    if (is_one(dim)) continue;
    const SizeExpr stride = tracer.simplify(operand.strides[k]);
    if (expected) {
      if (!(stride == *expected)) return false;
    } else {
      const auto constant = stride.constant();
      if (!constant || *constant <= 0) return false;
    }
    expected = tracer.simplify(stride * dim);
  }
  return true;
}

// Absolute strides by axis of the result, as nditer sees them: 0 where the operand has size 1 or no
// axis. Comparisons are decided on expressions, so that the order holds for every call.
std::vector<SizeExpr> iterator_strides(Tracer& tracer, const OrderOperand& operand, size_t rank) {
  static const std::string reason = "the memory order of a result follows its operands";
  std::vector<SizeExpr> strides(rank, SizeExpr(0));
  const size_t offset = rank - operand.dims.size();
  for (size_t k = 0; k < operand.dims.size(); ++k) {
    const SizeExpr dim = tracer.simplify(operand.dims[k]);
    // Of a size that changes from iteration to iteration, an iteration of size 1 would ask for a
    // program of its own, to tell strides that nothing reads.
    if (is_one(dim) || (!tracer.is_run_time(dim) && tracer.decide_equal(dim, 1, reason))) continue;
    SizeExpr stride = tracer.simplify(operand.strides[k]);
    if (tracer.decide_equal(stride, 0, reason)) continue;
    if (tracer.decide_less(stride, 0, reason)) stride = -stride;
    strides[offset + k] = stride;
  }
  return strides;
}

bool is_contiguous(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                   const std::vector<SizeExpr>& strides, bool fortran) {
  static const std::string reason = "whether an array is contiguous";
  for (const SizeExpr& dim : dims) {
    if (tracer.simplify(dim).constant() == 0) return true;
  }
  SizeExpr expected = item_size(dtype);
  for (size_t k = 0; k < dims.size(); ++k) {
    const size_t axis = fortran ? k : dims.size() - 1 - k;
    if (is_one(tracer.simplify(dims[axis]))) continue;
    const SizeExpr stride = tracer.simplify(strides[axis]);
    if (!(stride == expected)) {
      if (tracer.decide_equal(dims[axis], 1, reason)) continue;
      if (!tracer.decide_equal(stride, expected, reason)) return false;
    }
    expected = tracer.simplify(expected * dims[axis]);
  }
  return true;
}

}  // namespace

AxisOrder k_order(Tracer& tracer, const std::vector<SizeExpr>& dims,
                  std::span<const OrderOperand> operands) {
  const size_t rank = dims.size();
  if (rank < 2) return {};
  bool c_order = true;
  for (const OrderOperand& operand : operands) {
    c_order = c_order && falls_in_c_order(tracer, operand);
  }
  if (c_order) return {};
  std::vector<std::vector<SizeExpr>> strides;
  for (const OrderOperand& operand : operands) {
    strides.push_back(iterator_strides(tracer, operand, rank));
  }
  // NumPy's stable insertion sort from the smallest stride to the largest; position 0 is the
  // fastest.
  std::vector<size_t> axes(rank);
  for (size_t k = 0; k < rank; ++k) axes[k] = rank - 1 - k;
  static const std::string reason = "the memory order of a result follows its operands";
  for (size_t i = 1; i < rank; ++i) {
    const size_t moving = axes[i];
    size_t place = i;
    for (size_t j = i; j-- > 0;) {
      bool compared = false, swap = false;
      for (const auto& of_operand : strides) {
        const SizeExpr& mine = of_operand[moving];
        const SizeExpr& other = of_operand[axes[j]];
        if (mine.constant() == 0 || other.constant() == 0) continue;
        if (tracer.decide_less_equal(other, mine, reason)) {
          swap = false;  // where operands disagree, C order wins
        } else if (!compared) {
          swap = true;
        }
        compared = true;
      }
      if (!compared) continue;
      if (!swap) break;
      place = j;
    }
    for (size_t j = i; j > place; --j) axes[j] = axes[j - 1];
    axes[place] = moving;
  }
  AxisOrder order;
  for (size_t k = rank; k-- > 0;) order.push_back(static_cast<uint8_t>(axes[k]));
  for (size_t k = 0; k < rank; ++k) {
    if (order[k] != k) return order;
  }
  return {};
}

AxisOrder like_order(Tracer& tracer, const OrderOperand& prototype) {
  const size_t rank = prototype.dims.size();
  if (rank < 2 || is_c_contiguous(tracer, prototype.dtype, prototype.dims, prototype.strides))
    return {};
  if (is_f_contiguous(tracer, prototype.dtype, prototype.dims, prototype.strides)) {
    return fortran_order(static_cast<int>(rank));
  }
  static const std::string reason = "a copy has the memory order of its original";
  std::vector<SizeExpr> strides;
  for (const SizeExpr& given : prototype.strides) {
    const SizeExpr stride = tracer.simplify(given);
    strides.push_back(tracer.decide_less(stride, 0, reason) ? -stride : stride);
  }
  // Stable: the largest stride is the slowest axis.
  AxisOrder order;
  for (size_t axis = 0; axis < rank; ++axis) {
    size_t place = order.size();
    while (place > 0 && tracer.decide_less(strides[order[place - 1]], strides[axis], reason))
      --place;
    order.insert(order.begin() + static_cast<ptrdiff_t>(place), static_cast<uint8_t>(axis));
  }
  for (size_t k = 0; k < rank; ++k) {
    if (order[k] != k) return order;
  }
  return {};
}

bool is_c_contiguous(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                     const std::vector<SizeExpr>& strides) {
  return is_contiguous(tracer, dtype, dims, strides, false);
}

bool is_f_contiguous(Tracer& tracer, DType dtype, const std::vector<SizeExpr>& dims,
                     const std::vector<SizeExpr>& strides) {
  return is_contiguous(tracer, dtype, dims, strides, true);
}

char order_argument(Tracer& tracer, const Sym& value, char missing) {
  if (is_none(value)) return missing;
  const auto constant = tracer.as_constant(value, "the memory order asked for");
  if (constant && PyUnicode_Check(constant->get()) && PyUnicode_GetLength(constant->get()) == 1) {
    const Py_UCS4 letter = Py_UNICODE_TOUPPER(PyUnicode_ReadChar(constant->get(), 0));
    if (letter == 'K' || letter == 'A' || letter == 'C' || letter == 'F')
      return static_cast<char>(letter);
  }
  throw_break("numpy_argument", "an order argument that is not one of 'K', 'A', 'C', 'F'");
}

AxisOrder result_order(Tracer& tracer, char order, const std::vector<SizeExpr>& dims,
                       std::span<const OrderOperand> operands) {
  const int rank = static_cast<int>(dims.size());
  if (rank < 2 || order == 'C') return {};
  if (order == 'F') return fortran_order(rank);
  if (order == 'A') {
    for (const OrderOperand& operand : operands) {
      if (operand.dims.empty()) continue;
      if (!is_f_contiguous(tracer, operand.dtype, operand.dims, operand.strides)) return {};
    }
    return fortran_order(rank);
  }
  return k_order(tracer, dims, operands);
}

}  // namespace numlift::frame_eval
