// The slow, obvious meaning of a graph: evaluates node by node, element by element, on strided
// buffers. What compiled programs are compared with. Header only; needs neither Python nor LLVM.
// Transcendental functions are libm's (compare those within a few ULP). Extern calls are not
// evaluated (the evaluator throws); NumPy loops are, when the graph has their function. Float sums
// and products accumulate in long double and round once: a compiled sum differs by a few ULP.
//
//   EvalArray x = make_eval_array(DType::kFloat64, {3});
//   x.set<double>({1}, 2.5);
//   EvalResult r = evaluate_graph(graph, symbol_values, {{x}});
//   r.outputs[0].get<double>({1});
//
// Stores to array inputs write the caller's memory, as a program does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "numlift/graph/graph.h"
#include "numlift/graph/scalar.h"
#include "support/scalar_eval.h"

namespace numlift::testing {

// An array over owned or borrowed memory. Copies of it are views of the same memory.
struct EvalArray {
  DType dtype = DType::kFloat64;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;              // bytes
  char* origin = nullptr;                    // element (0, 0, ...)
  std::shared_ptr<std::vector<char>> owned;  // null when the memory is the caller's

  int64_t size() const {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return count;
  }
  char* address(std::span<const int64_t> index) const {
    char* at = origin;
    for (size_t i = 0; i < strides.size(); ++i) at += index[i] * strides[i];
    return at;
  }
  ScalarBits load(std::span<const int64_t> index) const {
    ScalarBits value;
    value.dtype = dtype;
    std::memcpy(value.bytes.data(), address(index), static_cast<size_t>(item_size(dtype)));
    return value;
  }
  void store(std::span<const int64_t> index, const ScalarBits& value) const {
    std::memcpy(address(index), value.bytes.data(), static_cast<size_t>(item_size(dtype)));
  }
  template <class T>
  T get(std::vector<int64_t> index) const {
    return scalar_value<T>(load(index));
  }
  template <class T>
  void set(std::vector<int64_t> index, T value) const {
    store(index, make_scalar(dtype, value));
  }
};

// Over the caller's memory.
inline EvalArray wrap_eval_array(DType dtype, std::vector<int64_t> dims,
                                 std::vector<int64_t> strides, void* origin) {
  return EvalArray{dtype, std::move(dims), std::move(strides), static_cast<char*>(origin), nullptr};
}

// C contiguous, zeroed.
inline EvalArray make_eval_array(DType dtype, std::vector<int64_t> dims) {
  EvalArray array;
  array.dtype = dtype;
  array.dims = std::move(dims);
  array.strides.resize(array.dims.size());
  int64_t stride = item_size(dtype);
  for (size_t i = array.dims.size(); i-- > 0;) {
    array.strides[i] = stride;
    stride *= array.dims[i];
  }
  array.owned = std::make_shared<std::vector<char>>(static_cast<size_t>(stride), '\0');
  array.origin = array.owned->data();
  return array;
}

inline EvalArray make_eval_scalar(const ScalarBits& value) {
  EvalArray array = make_eval_array(value.dtype, {});
  array.store({}, value);
  return array;
}

// All indices of an array in C order.
template <class Visit>
void for_each_index(std::span<const int64_t> dims, Visit visit) {
  for (int64_t dim : dims) {
    if (dim == 0) return;
  }
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    visit(std::span<const int64_t>(index));
    size_t axis = dims.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

inline EvalArray copy_eval_array(const EvalArray& from) {
  EvalArray to = make_eval_array(from.dtype, from.dims);
  for_each_index(from.dims, [&](auto index) { to.store(index, from.load(index)); });
  return to;
}

struct EvalResult {
  std::vector<EvalArray> outputs;  // by position in Graph::outputs; views share their buffers
  // Some node met a condition among its fp_checks (integer division by zero counts as divide, an
  // out-of-range cast or a negative integer power as invalid): a program ends with kRestart. So
  // does a check that does not hold: nothing behind it is evaluated then.
  bool must_restart = false;
  std::vector<EvalArray> values;  // of every node
};

class GraphEvaluator {
 public:
  GraphEvaluator(const Graph& graph, std::span<const int64_t> symbols,
                 std::span<const EvalArray> inputs)
      : graph_(graph), symbols_(symbols.begin(), symbols.end()), inputs_(inputs) {}

  EvalResult run() {
    result_.values.resize(graph_.size());
    ends_ = region_ends(graph_);
    uint32_t at = 0;
    while (at < graph_.size()) {
      const Node& node = graph_.node(NodeId{at});
      if (op_info(node.op).op_class == OpClass::kControl) {
        at = step(NodeId{at}, node);
      } else {
        result_.values[at] = evaluate(node);
        ++at;
      }
    }
    for (NodeId id : graph_.outputs) result_.outputs.push_back(result_.values[index_of(id)]);
    return std::move(result_);
  }

 private:
  int64_t size(const SizeExpr& expr) const {
    const auto value = expr.evaluate(symbols_);
    if (!value) throw std::logic_error("size overflow in " + expr.text());
    return *value;
  }
  std::vector<int64_t> sizes(const std::vector<SizeExpr>& exprs) const {
    std::vector<int64_t> values;
    for (const SizeExpr& expr : exprs) values.push_back(size(expr));
    return values;
  }
  const EvalArray& operand(const Node& node, size_t i) const {
    return result_.values[index_of(node.operands[i])];
  }
  EvalArray fresh(const Node& node) const {
    return make_eval_array(node.type.dtype, sizes(node.type.dims));
  }
  void meet(const Node& node, uint8_t conditions) {
    if ((conditions & node.fp_checks) != 0) result_.must_restart = true;
  }
  static std::span<const int64_t> at(const EvalArray& array, std::span<const int64_t> index) {
    return array.dims.empty() ? index.first(0) : index;
  }

  // ------------------------------------------------------------ control flow: where to go on

  uint32_t behind(NodeId id) const { return index_of(id) + 1; }

  uint32_t step(NodeId id, const Node& node) {
    switch (node.op) {
      case Op::kLoop: {
        const auto& trips = attr_of<RegionAttr>(node).trips;
        loops_[id] = {-1, trips ? std::optional<int64_t>(size(*trips)) : std::nullopt};
        return next_iteration(id);
      }
      case Op::kIf:
        if (truth(node)) return behind(id);
        for (uint32_t i = index_of(id); i < index_of(ends_[index_of(id)]); ++i) {
          const Node& other = graph_.node(NodeId{i});
          if (other.op == Op::kElse && other.operands[0] == id) return i + 1;
        }
        return behind(ends_[index_of(id)]);
      case Op::kElse:
        return behind(ends_[index_of(id)]);
      case Op::kEnd:
        return graph_.node(node.operands[0]).op == Op::kLoop ? next_iteration(node.operands[0])
                                                             : behind(id);
      case Op::kBreak:
        return behind(ends_[index_of(node.operands[0])]);
      case Op::kContinue:
        return next_iteration(node.operands[0]);
      case Op::kAssign: {
        std::vector<int64_t> values;
        for (size_t i = 0; i < node.operands.size(); ++i)
          values.push_back(operand(node, i).get<int64_t>({}));
        const auto& symbols = attr_of<AssignAttr>(node).symbols;
        for (size_t i = 0; i < values.size(); ++i) symbols_.at(index(symbols[i])) = values[i];
        return behind(id);
      }
      case Op::kCheck:
        if (truth(node)) return behind(id);
        result_.must_restart = true;
        return static_cast<uint32_t>(graph_.size());
      default:
        return behind(id);  // a block
    }
  }

  uint32_t next_iteration(NodeId loop) {
    auto& [iteration, trips] = loops_.at(loop);
    if (trips && iteration + 1 >= *trips) return behind(ends_[index_of(loop)]);
    ++iteration;
    symbols_.at(index(attr_of<RegionAttr>(graph_.node(loop)).counter)) = iteration;
    return behind(loop);
  }

  static size_t index(SymbolId id) { return static_cast<size_t>(id); }
  bool truth(const Node& node) const { return operand(node, 0).get<bool>({}); }

  EvalArray evaluate(const Node& node) {
    switch (op_info(node.op).op_class) {
      case OpClass::kElementwise:
        return node.op == Op::kNumpyLoop ? numpy_loop(node) : elementwise(node);
      case OpClass::kLeaf:
        return leaf(node);
      case OpClass::kView:  // of an array: it looks at memory; a scalar is read here
        return node.type.value_kind == ValueKind::kArray ? view(node) : copy_eval_array(view(node));
      case OpClass::kMemory:
        return memory(node);
      case OpClass::kReduction:
        return reduction(node);
      case OpClass::kGather:
        return gather(node);
      case OpClass::kGufunc:
        return gufunc(node);
      case OpClass::kExtern:
        throw std::logic_error("extern calls are not evaluated");
      case OpClass::kControl:
        break;
    }
    NUMLIFT_UNREACHABLE();
  }

  EvalArray elementwise(const Node& node) {
    EvalArray to = fresh(node);
    std::vector<ScalarBits> scalars(node.operands.size());
    for_each_index(to.dims, [&](auto index) {
      for (size_t i = 0; i < scalars.size(); ++i) {
        scalars[i] = operand(node, i).load(at(operand(node, i), index));
      }
      uint8_t conditions = 0;
      to.store(index, evaluate_scalar(node.op, scalars, node.type.dtype, &conditions));
      if (node.type.value_kind == ValueKind::kNumpyScalar && is_integer(scalars[0].dtype)) {
        conditions |= overflow_of_scalars(node.op, scalars);
      }
      meet(node, conditions);
    });
    return to;
  }

  EvalArray numpy_loop(const Node& node) {
    const NumpyLoopInfo& loop = graph_.loops[attr_of<LoopAttr>(node).loop];
    if (loop.function == nullptr) throw std::logic_error("no function of loop " + loop.name);
    EvalArray to = fresh(node);
    for_each_index(to.dims, [&](auto index) {
      std::vector<char*> addresses;
      std::vector<int64_t> steps(node.operands.size() + 1, 0);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        addresses.push_back(operand(node, i).address(at(operand(node, i), index)));
      }
      addresses.push_back(to.address(index));
      const int64_t count = 1;
      const WatchConditions watch;
      loop.function(addresses.data(), &count, steps.data(), loop.data);
      meet(node, watch.seen());
    });
    return to;
  }

  EvalArray gather(const Node& node) {
    EvalArray to = fresh(node);
    for_each_index(to.dims, [&](auto index) {
      std::vector<int64_t> place;
      for (size_t i = 1; i < node.operands.size(); ++i) {
        const auto where = at(operand(node, i), index);
        place.push_back(operand(node, i).get<int64_t>({where.begin(), where.end()}));
      }
      to.store(index, operand(node, 0).load(place));
    });
    return to;
  }

  // The loop on the operands as they lie in memory, whatever their strides are.
  EvalArray gufunc(const Node& node) {
    const NumpyLoopInfo& loop = graph_.loops[attr_of<LoopAttr>(node).loop];
    EvalArray to = fresh(node);
    std::vector<char*> addresses;
    std::vector<int64_t> dims{1}, steps, core_strides;
    for (size_t i = 0; i < loop.core.size(); ++i) {
      const EvalArray& array = i < node.operands.size() ? operand(node, i) : to;
      addresses.push_back(array.address(std::vector<int64_t>(array.dims.size(), 0)));
      size_t axis = 0;
      const bool has_batch = array.dims.size() > static_cast<size_t>(present_axes(loop.core[i]));
      steps.push_back(has_batch ? array.strides[axis] : 0);
      if (has_batch) dims[0] = array.dims[axis++];
      for (const CoreAxis& core : loop.core[i]) {
        const auto number = static_cast<size_t>(core.number) + 1;
        if (dims.size() <= number) dims.resize(number + 1, 1);
        core_strides.push_back(core.is_absent ? 0 : array.strides[axis]);
        if (!core.is_absent) dims[number] = array.dims[axis++];
      }
    }
    steps.insert(steps.end(), core_strides.begin(), core_strides.end());
    const WatchConditions watch;
    loop.function(addresses.data(), dims.data(), steps.data(), loop.data);
    meet(node, watch.seen());
    return to;
  }

  EvalArray leaf(const Node& node) {
    if (node.op == Op::kConstant) return make_eval_scalar(attr_of<ConstantAttr>(node).value);
    if (node.op == Op::kSizeValue) {
      return make_eval_scalar(make_scalar(DType::kInt64, size(attr_of<SizeAttr>(node).value)));
    }
    if (node.op == Op::kPlaceholder) {
      const auto& attr = attr_of<PlaceholderAttr>(node);
      const EvalArray& input = inputs_[attr.input];
      if (input.dtype != node.type.dtype || input.dims != sizes(node.type.dims) ||
          (input.size() > 0 && input.strides != sizes(attr.strides))) {
        throw std::logic_error(fmt::format("input {} does not fit its placeholder", attr.input));
      }
      return input;
    }
    EvalArray to = fresh(node);
    if (node.op == Op::kIota) {
      const auto axis = static_cast<size_t>(attr_of<IotaAttr>(node).axis);
      for_each_index(to.dims,
                     [&](auto index) { to.store(index, make_scalar(DType::kInt64, index[axis])); });
    }
    return to;
  }

  EvalArray view(const Node& node) {
    const EvalArray& from = operand(node, 0);
    EvalArray to = from;
    to.dtype = node.type.dtype;
    to.dims = sizes(node.type.dims);
    if (node.op == Op::kPartView) {
      if (attr_of<PartAttr>(node).imaginary) to.origin += item_size(node.type.dtype);
      return to;
    }
    if (node.op == Op::kReshape) return reshape(node, from);
    to.strides.assign(to.dims.size(), 0);
    const auto& axes = attr_of<ViewAttr>(node).map.axes;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t start = size(axes[i].start);
      int64_t last = start;
      if (axes[i].axis >= 0) {
        const auto axis = static_cast<size_t>(axes[i].axis);
        last += size(axes[i].step) * (to.dims[axis] - 1);
        to.strides[axis] += size(axes[i].step) * from.strides[i];
      }
      if (to.size() == 0) continue;
      if (std::min(start, last) < 0 || std::max(start, last) >= from.dims[i]) {
        throw std::logic_error("a view reaches outside its operand");
      }
      to.origin += start * from.strides[i];
    }
    return to;
  }

  // In place when the memory is C contiguous, else of a copy.
  EvalArray reshape(const Node& node, const EvalArray& from) {
    EvalArray contiguous = copy_eval_array(from);
    EvalArray to = make_eval_array(node.type.dtype, sizes(node.type.dims));
    if (to.size() != from.size()) throw std::logic_error("reshape changes the number of elements");
    bool in_place = true;
    for (size_t i = 0; i < from.dims.size(); ++i) {
      in_place = in_place && (from.dims[i] == 1 || from.strides[i] == contiguous.strides[i]);
    }
    const EvalArray& memory = in_place ? from : contiguous;
    to.origin = memory.origin;
    to.owned = memory.owned;
    return to;
  }

  EvalArray memory(const Node& node) {
    if (node.op == Op::kCopy) return copy_eval_array(operand(node, 0));
    if (node.op == Op::kMerge) return operand(node, 0);  // every version is the buffer's memory
    const EvalArray& target = operand(node, 0);
    const EvalArray value = copy_eval_array(operand(node, 1));  // it may overlap the target
    for_each_index(target.dims,
                   [&](auto index) { target.store(index, value.load(at(value, index))); });
    return result_.values[index_of(graph_.buffer_of(node.operands[0]))];
  }

  EvalArray reduction(const Node& node) {
    const EvalArray& from = operand(node, 0);
    EvalArray to = fresh(node);
    std::vector<int64_t> kept_axes, reduced_axes, reduced_dims;
    const std::vector<int>& axes = attr_of<ReduceAttr>(node).axes;
    for (int axis = 0; axis < static_cast<int>(from.dims.size()); ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        kept_axes.push_back(axis);
      } else {
        reduced_axes.push_back(axis);
        reduced_dims.push_back(from.dims[static_cast<size_t>(axis)]);
      }
    }
    for_each_index(to.dims, [&](auto index) {
      std::vector<int64_t> full(from.dims.size());
      for (size_t i = 0; i < kept_axes.size(); ++i)
        full[static_cast<size_t>(kept_axes[i])] = index[i];
      std::vector<ScalarBits> elements;
      for_each_index(reduced_dims, [&](auto inner) {
        for (size_t i = 0; i < reduced_axes.size(); ++i) {
          full[static_cast<size_t>(reduced_axes[i])] = inner[i];
        }
        elements.push_back(from.load(full));
      });
      to.store(index, reduce(node, elements));
    });
    return to;
  }

  ScalarBits reduce(const Node& node, const std::vector<ScalarBits>& elements) {
    if (node.op == Op::kReduceAll || node.op == Op::kReduceAny) {
      bool all = true, any = false;
      for (const ScalarBits& element : elements) {
        uint8_t ignored = 0;
        const bool truth = scalar_value<bool>(cast_scalar(element, DType::kBool, &ignored));
        all = all && truth;
        any = any || truth;
      }
      return make_scalar(DType::kBool, node.op == Op::kReduceAll ? all : any);
    }
    if (node.op == Op::kReduceSum || node.op == Op::kReduceProd) return accumulate(node, elements);
    if (elements.empty()) throw std::logic_error("an extreme of nothing");
    const bool largest = node.op == Op::kReduceMax || node.op == Op::kReduceArgmax;
    size_t best = 0;
    uint8_t ignored = 0;
    auto test = [&](Op op, size_t i, size_t j) {
      const ScalarBits pair[] = {elements[i], elements[j]};
      return scalar_value<bool>(evaluate_scalar(op, pair, DType::kBool, &ignored));
    };
    auto is_nan = [&](size_t i) { return test(Op::kNotEqual, i, i); };
    for (size_t i = 1; i < elements.size() && !is_nan(best); ++i) {
      if (is_nan(i) || test(largest ? Op::kGreater : Op::kLess, i, best)) best = i;
    }
    const bool position = node.op == Op::kReduceArgmax || node.op == Op::kReduceArgmin;
    return position ? make_scalar(DType::kInt64, static_cast<int64_t>(best)) : elements[best];
  }

  ScalarBits accumulate(const Node& node, const std::vector<ScalarBits>& elements) {
    const bool product = node.op == Op::kReduceProd;
    return with_ctype(node.type.dtype, [&](auto like) -> ScalarBits {
      using T = decltype(like);
      if constexpr (std::is_same_v<T, bool>) {
        bool total = product;
        for (const ScalarBits& element : elements) {
          const bool value = scalar_value<bool>(element);
          total = product ? total && value : total || value;
        }
        return make_scalar(DType::kBool, total);
      } else if constexpr (std::is_integral_v<T>) {
        uint64_t total = product ? 1 : 0;
        for (const ScalarBits& element : elements) {
          const auto value = static_cast<uint64_t>(scalar_value<T>(element));
          total = product ? total * value : total + value;
        }
        return make_scalar(node.type.dtype, static_cast<T>(total));
      } else if constexpr (is_complex_type<T>) {
        using Part = typename T::value_type;
        std::complex<long double> total(product ? 1 : 0, 0);
        for (const ScalarBits& element : elements) {
          const T value = scalar_value<T>(element);
          const std::complex<long double> wide(value.real(), value.imag());
          total = product ? total * wide : total + wide;
        }
        const T rounded(static_cast<Part>(total.real()), static_cast<Part>(total.imag()));
        return make_scalar(node.type.dtype, rounded);
      } else {
        return accumulate_floats<T>(node, elements, product);
      }
    });
  }

  template <class T>
  ScalarBits accumulate_floats(const Node& node, const std::vector<ScalarBits>& elements,
                               bool product) {
    long double total = product ? 1 : 0;
    bool any_nan = false, all_finite = true;
    uint8_t conditions = 0;
    for (const ScalarBits& element : elements) {
      const auto value = cast_number<double>(scalar_value<T>(element), &conditions);
      any_nan = any_nan || std::isnan(value);
      all_finite = all_finite && std::isfinite(value);
      total = product ? total * value : total + value;
    }
    T rounded{};
    if constexpr (std::is_same_v<T, Half>) {
      rounded = Half{double_to_half(static_cast<double>(total))};
    } else {
      rounded = static_cast<T>(total);
    }
    const auto value = cast_number<double>(rounded, &conditions);
    conditions = 0;
    if (std::isinf(value) && all_finite) conditions |= kFpOver;
    if (std::isnan(value) && !any_nan) conditions |= kFpInvalid;
    meet(node, conditions);
    return make_scalar(node.type.dtype, rounded);
  }

  const Graph& graph_;
  std::vector<int64_t> symbols_;
  std::span<const EvalArray> inputs_;
  std::vector<NodeId> ends_;  // as region_ends() gives them
  struct Iterations {
    int64_t now = 0;
    std::optional<int64_t> trips;
  };
  std::map<NodeId, Iterations> loops_;  // the open ones, and closed ones
  EvalResult result_;
};

// `symbols` by SymbolId; `inputs` by input number (scalars as arrays of rank 0).
inline EvalResult evaluate_graph(const Graph& graph, std::span<const int64_t> symbols,
                                 std::span<const EvalArray> inputs) {
  return GraphEvaluator(graph, symbols, inputs).run();
}
inline EvalResult evaluate_graph(const Graph& graph, const std::vector<int64_t>& symbols,
                                 const std::vector<EvalArray>& inputs) {
  return evaluate_graph(graph, std::span(symbols), std::span(inputs));
}

// Distance in representable values; 0 for two NaNs, -1 when only one is NaN.
template <class Float, class Bits>
int64_t ulp_distance(Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : -1;
  auto order = [](Float value) {
    const auto bits = std::bit_cast<Bits>(value);
    const Bits magnitude = static_cast<Bits>(bits & (static_cast<Bits>(~Bits{0}) >> 1));
    return bits == magnitude ? static_cast<__int128>(magnitude) : -static_cast<__int128>(magnitude);
  };
  const __int128 distance = order(a) - order(b);
  const __int128 size = distance < 0 ? -distance : distance;
  if (size == 0 && std::signbit(a) != std::signbit(b)) return 1;  // -0 is not 0
  return size > INT64_MAX ? INT64_MAX : static_cast<int64_t>(size);
}

inline bool close_scalars(const ScalarBits& a, const ScalarBits& b, int64_t max_ulp) {
  auto close = [&](int64_t distance) { return distance >= 0 && distance <= max_ulp; };
  return with_ctype(a.dtype, [&](auto like) -> bool {
    using T = decltype(like);
    const T x = scalar_value<T>(a), y = scalar_value<T>(b);
    if constexpr (std::is_same_v<T, float>) {
      return close(ulp_distance<float, uint32_t>(x, y));
    } else if constexpr (std::is_same_v<T, double>) {
      return close(ulp_distance<double, uint64_t>(x, y));
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return close(ulp_distance<float, uint32_t>(x.real(), y.real())) &&
             close(ulp_distance<float, uint32_t>(x.imag(), y.imag()));
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      return close(ulp_distance<double, uint64_t>(x.real(), y.real())) &&
             close(ulp_distance<double, uint64_t>(x.imag(), y.imag()));
    } else if constexpr (std::is_same_v<T, Half>) {
      if (std::isnan(half_to_float(x.bits)) && std::isnan(half_to_float(y.bits))) return true;
      auto order = [](Half h) {
        const int magnitude = h.bits & 0x7FFF;
        return (h.bits & 0x8000) != 0 ? -magnitude : magnitude;
      };
      if (order(x) == order(y)) return x.bits == y.bits || max_ulp > 0;
      return std::abs(order(x) - order(y)) <= max_ulp;
    } else {
      return x == y;
    }
  });
}

// "" when equal: same dtype and dims, elements bit for bit (any NaN equals any NaN) or, for floats,
// at most `max_ulp` apart. Else the first difference.
inline std::string compare_arrays(const EvalArray& actual, const EvalArray& expected,
                                  int64_t max_ulp = 0) {
  if (actual.dtype != expected.dtype) {
    return fmt::format("dtype {}, not {}", dtype_text(actual.dtype), dtype_text(expected.dtype));
  }
  if (actual.dims != expected.dims) {
    return fmt::format("dims [{}], not [{}]", fmt::join(actual.dims, ", "),
                       fmt::join(expected.dims, ", "));
  }
  std::string difference;
  for_each_index(expected.dims, [&](auto index) {
    const ScalarBits a = actual.load(index), e = expected.load(index);
    if (!difference.empty() || close_scalars(a, e, max_ulp)) return;
    difference =
        fmt::format("at [{}]: {}, not {}", fmt::join(index, ", "), scalar_text(a), scalar_text(e));
  });
  return difference;
}

}  // namespace numlift::testing
