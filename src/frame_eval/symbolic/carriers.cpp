// State that lives in memory or in symbols of the program: made, read, stored to.
#include <utility>

#include "numlift/graph/scalar.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/output.h"
#include "symbolic/frame_state.h"
#include "symbolic/numpy_common.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

NodeId number_node(Tracer& tracer, const Sym& value, DType dtype) {
  NodeId node = kNoNode;
  if (value->kind == SymKind::kSize) {
    node = tracer.size_node(as<SizeValue>(value).expr);
  } else if (value->kind == SymKind::kScalar) {
    node = as<ScalarValue>(value).node;
  } else {
    const auto type = number_type(value);
    NUMLIFT_CHECK(type, "a state of a {}", type_name(value));
    const auto constant = tracer.as_constant(value, "it begins the state of a loop or branch");
    if (!constant) refuse_loop("a number that is no constant");
    ScalarBits bits;
    bits.dtype = type->dtype;
    if (!numpy_shim::read_scalar(constant->get(), type->value_kind, type->dtype, bits.bytes.data()))
      refuse_loop("an int beyond 64 bits");
    node = constant_node(tracer, bits, type->value_kind);
  }
  if (tracer.type_of(node).dtype == dtype) return node;
  const ScopedFpChecks quietly(tracer, kFpNone);
  return tracer.append(Op::kCast, {node}, NoAttr{}, py_scalar_type(dtype));
}

SizeExpr size_symbol(Tracer& tracer, int64_t hint) {
  return tracer.run_symbol(hint, Tracer::Bounds{0, kMostSize});
}

SizeExpr kept_size(Tracer& tracer, NodeId number, int64_t hint) {
  const SizeExpr now = size_symbol(tracer, hint);
  tracer.assign({*now.as_symbol()}, {number});
  return now;
}

namespace {

// What `make` appends goes before `before`, unless that is kNoNode.
template <class Make>
void placed(Tracer& tracer, NodeId before, Make make) {
  const size_t from = tracer.graph().size();
  make();
  if (before == kNoNode) return;
  for (size_t i = from; i < tracer.graph().size(); ++i)
    tracer.move_before(NodeId{static_cast<uint32_t>(i)}, before);
}

NodeId with_sizes(Tracer& tracer, NodeId array, std::vector<SizeExpr> dims) {
  IndexMap map;
  for (int axis = 0; axis < static_cast<int>(dims.size()); ++axis) map.axes.push_back({0, 1, axis});
  const DType dtype = tracer.type_of(array).dtype;
  return tracer.append(Op::kView, {array}, ViewAttr{std::move(map)},
                       array_type(dtype, std::move(dims)));
}

}  // namespace

Carrier make_carrier(Tracer& tracer, const StateType& type, const Sym& seen, NodeId before,
                     SizeSymbols* sizes) {
  Carrier carrier;
  carrier.type = type;
  if (type.kind == StateKind::kInt) {
    std::optional<int64_t> hint;
    if (seen && seen->kind == SymKind::kSize)
      hint = as<SizeValue>(seen).expr.evaluate(tracer.graph().symbol_hints());
    carrier.symbol = tracer.run_symbol(hint.value_or(0), std::nullopt);
    return carrier;
  }
  placed(tracer, before, [&] {
    std::vector<SizeExpr>& dims = carrier.type.type.dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!type.changes(axis)) continue;
      const auto [found, is_new] = sizes->try_emplace(type.changing[axis]);
      if (is_new) {
        const bool is_seen = seen && seen->kind == SymKind::kArray;
        found->second =
            size_symbol(tracer, is_seen ? tracer.hint(as<ArrayValue>(seen).type.dims[axis]) : 2);
        tracer.assign({*found->second.as_symbol()}, {tracer.size_node(0)});
      }
      dims[axis] = found->second;
    }
    carrier.buffer =
        tracer.append(Op::kEmpty, {}, NoAttr{}, array_type(type.type.dtype, dims), type.order);
  });
  if (type.kind == StateKind::kArray) {
    carrier.storage = std::make_shared<Storage>();
    carrier.storage->current = carrier.buffer;
    carrier.storage->stored_to = true;
  }
  return carrier;
}

Sym read_carrier(Tracer& tracer, const Carrier& carrier) {
  switch (carrier.type.kind) {
    case StateKind::kInt:
      return tracer.new_size(carrier.symbol);
    case StateKind::kScalar: {
      // A value, as it is now: a view would be of what is stored later.
      const Sym value = tracer.new_scalar(
          tracer.append(Op::kCast, {carrier.buffer}, NoAttr{}, carrier.type.type));
      as<ScalarValue>(value).either = carrier.type.either;
      return value;
    }
    case StateKind::kArray: {
      auto array = std::make_shared<ArrayValue>();
      array->storage = carrier.storage;
      array->type = carrier.type.type;
      array->strides = strides_for(array->type, carrier.type.order);
      return array;
    }
    case StateKind::kSame:
      break;
  }
  NUMLIFT_UNREACHABLE();
}

namespace {

// All that paths leave, at the end of one of them. What they leave in memory whose size changes is
// kept aside while the sizes are set: everything else still counts with the old ones.
class CarrierStores {
 public:
  CarrierStores(Tracer& tracer, const std::vector<std::pair<const Carrier*, Sym>>& values)
      : tracer_(tracer), values_(values), contents_(values.size(), kNoNode) {}

  void run() {
    for (size_t i = 0; i < values_.size(); ++i) take(i);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i].first->type.changing.empty()) continue;
      if (contents_[i] != kNoNode) store(*values_[i].first, contents_[i]);
    }
    for (const auto& [symbol, now] : sizes_) {
      symbols_.push_back(symbol);
      numbers_.push_back(tracer_.size_node(now));
    }
    tracer_.assign(std::move(symbols_), std::move(numbers_));
    for (size_t i = 0; i < values_.size(); ++i) {
      const Carrier& carrier = *values_[i].first;
      if (carrier.type.changing.empty() || contents_[i] == kNoNode) continue;
      const Type type = tracer_.type_of(carrier.buffer);
      carrier.storage->current = tracer_.append(Op::kResize, {carrier.buffer}, NoAttr{}, type,
                                                tracer_.graph().node(carrier.buffer).order);
      store(carrier, with_sizes(tracer_, contents_[i], type.dims));
    }
  }

 private:
  void take(size_t i) {
    const auto& [carrier, value] = values_[i];
    switch (carrier->type.kind) {
      case StateKind::kInt: {
        const NodeId number = number_node(tracer_, value, DType::kInt64);
        if (value->kind != SymKind::kObject) {
          check_int(tracer_, Op::kLessEqual, number, kMostSize);
          check_int(tracer_, Op::kGreaterEqual, number, -kMostSize);
        }
        symbols_.push_back(*carrier->symbol.as_symbol());
        numbers_.push_back(number);
        return;
      }
      case StateKind::kScalar:
        contents_[i] = number_node(tracer_, value, carrier->type.type.dtype);
        return;
      case StateKind::kArray:
        take_array(i, *carrier, as<ArrayValue>(value));
        return;
      case StateKind::kSame:
        NUMLIFT_UNREACHABLE();
    }
  }

  void take_array(size_t i, const Carrier& carrier, ArrayValue& array) {
    if (array.storage == carrier.storage && array.chain.empty()) return;  // it is there
    const NodeId node = tracer_.read(array);
    if (!carrier.type.changing.empty()) {
      std::vector<SizeExpr> dims;
      for (size_t axis = 0; axis < array.type.dims.size(); ++axis) {
        const SizeExpr& own = carrier.type.type.dims[axis];
        dims.push_back(
            carrier.type.changes(axis) ? size_now(*own.as_symbol(), array.type.dims[axis]) : own);
      }
      const NodeId sized = with_sizes(tracer_, node, dims);
      contents_[i] =
          tracer_.append(Op::kCopy, {sized}, NoAttr{}, tracer_.type_of(sized), carrier.type.order);
      return;
    }
    contents_[i] = broadcast_node(tracer_, node, carrier.type.type.dims, false);
    // Another carrier's memory, which is about to get its own new contents.
    const bool is_state = std::any_of(values_.begin(), values_.end(), [&](const auto& one) {
      return one.first->storage && one.first->storage == array.storage;
    });
    if (is_state)
      contents_[i] = tracer_.append(Op::kCopy, {contents_[i]}, NoAttr{}, carrier.type.type);
  }

  // The size that the symbol is about to get.
  SizeExpr size_now(SymbolId symbol, const SizeExpr& size) {
    const auto known = sizes_.find(symbol);
    if (known != sizes_.end()) return known->second;
    const NodeId number = tracer_.size_node(size);
    check_int(tracer_, Op::kLessEqual, number, kMostSize);
    const SizeExpr now = kept_size(tracer_, number, tracer_.hint(size));
    sizes_.emplace(symbol, now);
    return now;
  }

  void store(const Carrier& carrier, NodeId content) {
    const Type type = tracer_.type_of(carrier.buffer);
    const NodeId stored = tracer_.append(Op::kStore, {carrier.buffer, content}, NoAttr{}, type,
                                         tracer_.graph().node(carrier.buffer).order);
    if (carrier.storage) carrier.storage->current = stored;
  }

  Tracer& tracer_;
  const std::vector<std::pair<const Carrier*, Sym>>& values_;
  std::vector<NodeId> contents_;
  std::vector<SymbolId> symbols_;
  std::vector<NodeId> numbers_;
  std::map<SymbolId, SizeExpr> sizes_;
};

}  // namespace

void store_carriers(Tracer& tracer, const std::vector<std::pair<const Carrier*, Sym>>& values,
                    NodeId before) {
  placed(tracer, before, [&] { CarrierStores(tracer, values).run(); });
}

}  // namespace numlift::frame_eval
