#include "symbolic/frame_state.h"

#include <algorithm>
#include <complex>
#include <map>

#include "numlift/graph/scalar.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/output.h"
#include "symbolic/grown_list.h"
#include "symbolic/numpy_common.h"
#include "symbolic/pure.h"
#include "symbolic/sets.h"
#include "symbolic/value_parts.h"

namespace numlift::frame_eval {

FrameState state_of(const Frame& frame) { return {frame.slots, frame.stack}; }

void set_state(Frame& frame, const FrameState& state) {
  frame.slots = state.slots;
  frame.stack = state.stack;
}

// ---------------------------------------------------------------- types

std::optional<Type> number_type(const Sym& value) {
  if (value->kind != SymKind::kObject || as<ObjectValue>(value).differs()) return std::nullopt;
  PyObject* object = object_of(value).get();
  if (PyBool_Check(object)) return py_scalar_type(DType::kBool);
  if (PyLong_CheckExact(object)) return py_scalar_type(DType::kInt64);
  if (PyFloat_CheckExact(object)) return py_scalar_type(DType::kFloat64);
  if (PyComplex_CheckExact(object)) return py_scalar_type(DType::kComplex128);
  if (const auto dtype = numpy_shim::dtype_of_scalar_class(BorrowedRef(object).type()))
    return numpy_scalar_type(*dtype);
  return std::nullopt;
}

namespace {

bool is_py(const StateType& type, DType dtype) {
  return type.kind == StateKind::kScalar && type.type == py_scalar_type(dtype);
}
bool is_number(const StateType& type) {
  return type.kind == StateKind::kInt || type.kind == StateKind::kScalar;
}
DType number_dtype(const StateType& type) {
  return type.kind == StateKind::kInt ? DType::kInt64 : type.type.dtype;
}
bool is_python(const StateType& type) {
  return type.kind == StateKind::kInt || type.type.value_kind == ValueKind::kPyScalar;
}

}  // namespace

std::optional<StateType> state_type(const Sym& value) {
  if (value->kind == SymKind::kSize) return StateType{StateKind::kInt, {}, false, {}, {}};
  if (value->kind == SymKind::kScalar) {
    const auto& scalar = as<ScalarValue>(value);
    return StateType{StateKind::kScalar, scalar.type, scalar.either, {}, {}};
  }
  if (const auto type = number_type(value)) {
    if (*type == py_scalar_type(DType::kInt64))
      return StateType{StateKind::kInt, {}, false, {}, {}};
    return StateType{StateKind::kScalar, *type, false, {}, {}};
  }
  if (value->kind == SymKind::kArray) {
    const auto& array = as<ArrayValue>(value);
    if (array.read_only) return std::nullopt;
    // What is made of it has the memory order that its strides ask for; of vectors there is one.
    const size_t rank = array.type.dims.size();
    StateType type{StateKind::kArray, array.type, false, {}, {}};
    if (rank < 2 || array.strides == strides_for(array.type, {})) return type;
    for (size_t axis = rank; axis-- > 0;) type.order.push_back(static_cast<uint8_t>(axis));
    if (array.strides != strides_for(array.type, type.order)) return std::nullopt;
    return type;
  }
  return std::nullopt;
}

std::optional<StateType> join(const StateType& a, const StateType& b) {
  if (a == b) return a;
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  // An int that outgrows a symbol's use is a node.
  if ((a.kind == StateKind::kInt && is_py(b, DType::kInt64)) ||
      (b.kind == StateKind::kInt && is_py(a, DType::kInt64)))
    return StateType{StateKind::kScalar, py_scalar_type(DType::kInt64), false, {}, {}};
  // A Python number to begin with, then NumPy's; an int that becomes a float or complex.
  if (is_python(a) && is_python(b)) return std::nullopt;
  const StateType& numpy = is_python(a) ? b : a;
  const StateType& other = is_python(a) ? a : b;
  const DType dtype = number_dtype(numpy), from = number_dtype(other);
  const bool same = dtype == from;
  const bool widens = from == DType::kInt64 && dtype == DType::kFloat64;
  if (!same && !widens) return std::nullopt;
  if (dtype != DType::kFloat64 && dtype != DType::kInt64 && dtype != DType::kComplex128 &&
      dtype != DType::kBool)
    return std::nullopt;
  return StateType{StateKind::kScalar, numpy_scalar_type(dtype), true, {}, {}};
}

bool is_alike(const StateType& a, const StateType& b) {
  return a.kind == StateKind::kArray && b.kind == StateKind::kArray &&
         a.type.dtype == b.type.dtype && a.type.rank() == b.type.rank() && a.order == b.order;
}

bool is_one_size(Tracer& tracer, const SizeExpr& a, const SizeExpr& b) {
  static const std::string reason = "an array keeps its size in a loop";
  const SizeExpr x = tracer.simplify(a), y = tracer.simplify(b);
  if (x == y) return true;
  const auto is_of_run = [&](const SizeExpr& size) {
    return tracer.is_run_time(size) || tracer.depends_on_extern(size);
  };
  if (is_of_run(x) || is_of_run(y)) return false;
  return tracer.hint(x) == tracer.hint(y) && tracer.decide_equal(x, y, reason);
}

// ---------------------------------------------------------------- merging

bool RegionStart::contains(const Tracer& tracer, const Sym& value) const {
  const auto made_inside = [&](const std::vector<SizeExpr>& sizes) {
    return std::any_of(sizes.begin(), sizes.end(), [&](const SizeExpr& size) {
      std::vector<SymbolId> used;
      size.collect_symbols(&used);
      return std::any_of(used.begin(), used.end(),
                         [&](SymbolId id) { return static_cast<size_t>(id) >= symbols; });
    });
  };
  switch (value->kind) {
    case SymKind::kScalar:
      return as<ScalarValue>(value).node >= first && !value->source;
    case SymKind::kSize:
      return made_inside({as<SizeValue>(value).expr});
    case SymKind::kArray: {
      const auto& array = as<ArrayValue>(value);
      if (made_inside(array.type.dims) || made_inside(array.strides)) return true;
      for (const ViewStep& step : array.chain) {
        const auto* view = std::get_if<ViewAttr>(&step.attr);
        if (view == nullptr) continue;
        for (const IndexMap::Axis& axis : view->map.axes) {
          if (made_inside({axis.start, axis.step})) return true;
        }
      }
      if (array.storage->is_input) return false;
      return tracer.graph().buffer_of(array.storage->current) >= first;
    }
    case SymKind::kGrownList: {
      const auto& list = as<GrownList>(value);
      return made_inside({list.length, list.capacity}) ||
             tracer.graph().buffer_of(list.storage->current) >= first;
    }
    default: {
      bool inside = false;
      const bool all_known =
          visit_parts(*value, [&](const Sym& part) { inside = inside || contains(tracer, part); });
      return inside || !all_known;
    }
  }
}

namespace {

bool same_constant(const Sym& a, const Sym& b) {
  if (a->kind != SymKind::kObject || b->kind != SymKind::kObject) return false;
  const auto &x = as<ObjectValue>(a), &y = as<ObjectValue>(b);
  return x.object.get() == y.object.get() && !x.differs() && !y.differs();
}

bool same_sizes(const Sym& a, const Sym& b) {
  return a->kind == SymKind::kSize && b->kind == SymKind::kSize &&
         as<SizeValue>(a).expr == as<SizeValue>(b).expr;
}

class Merger {
 public:
  Merger(Tracer& tracer, const std::vector<PathEnd>& paths, const RegionStart& start)
      : tracer_(tracer), paths_(paths), start_(start), stores_(paths.size()) {}

  // One value a path.
  Sym merge(const std::vector<Sym>& values) {
    const Sym& first = values[0];
    const bool all_same = std::all_of(values.begin(), values.end(), [&](const Sym& value) {
      return value == first || same_constant(value, first) || same_sizes(value, first);
    });
    if (all_same && !start_.contains(tracer_, first)) return first;
    const auto known = std::find_if(merged_.begin(), merged_.end(),
                                    [&](const auto& one) { return one.first == values; });
    if (known != merged_.end()) return known->second;
    Sym made = merge_new(values);
    merged_.emplace_back(values, made);
    return made;
  }

  void finish() {
    for (size_t i = 0; i < paths_.size(); ++i) {
      std::vector<std::pair<const Carrier*, Sym>> stores;
      for (const auto& [carrier, value] : stores_[i]) stores.emplace_back(carrier.get(), value);
      store_carriers(tracer_, stores, paths_[i].before);
    }
  }

 private:
  Sym merge_new(const std::vector<Sym>& values) {
    if (const Sym tuple = merge_tuples(values)) return tuple;
    std::optional<StateType> type = state_type(values[0]);
    for (size_t i = 1; i < values.size() && type; ++i) {
      const auto other = state_type(values[i]);
      if (other && is_alike(*type, *other)) continue;
      type = other ? join(*type, *other) : std::nullopt;
    }
    if (!type) {
      refuse_loop(fmt::format("a variable is a {} on one path and a {} on another",
                              type_name(values[0]), type_name(values.back())));
    }
    if (type->kind == StateKind::kArray) find_changing_sizes(values, &*type);
    auto carrier =
        std::make_shared<Carrier>(make_carrier(tracer_, *type, values[0], start_.first, &sizes_));
    if (carrier->storage) {
      carrier->storage->may_alias =
          std::any_of(values.begin(), values.end(), [&](const Sym& value) {
            const auto& array = as<ArrayValue>(value);
            return !start_.contains(tracer_, value) || array.storage->may_alias ||
                   array.storage->is_item || !array.chain.empty();
          });
    }
    for (size_t i = 0; i < values.size(); ++i) stores_[i].emplace_back(carrier, values[i]);
    return read_carrier(tracer_, *carrier);
  }

  Sym merge_tuples(const std::vector<Sym>& values) {
    const auto items = [](const Sym& value) -> const std::vector<Sym>& {
      return as<SequenceValue>(value).items;
    };
    for (const Sym& value : values) {
      if (value->kind != SymKind::kTuple || as<SequenceValue>(value).named_tuple_class ||
          items(value).size() != items(values[0]).size())
        return nullptr;
    }
    auto tuple = std::make_shared<SequenceValue>(SymKind::kTuple);
    for (size_t k = 0; k < items(values[0]).size(); ++k) {
      std::vector<Sym> parts;
      for (const Sym& value : values) parts.push_back(items(value)[k]);
      tuple->items.push_back(merge(parts));
    }
    return tuple;
  }

  // Those that differ from path to path, or are known inside of the region only.
  void find_changing_sizes(const std::vector<Sym>& values, StateType* type) {
    for (size_t axis = 0; axis < type->type.dims.size(); ++axis) {
      std::vector<SizeExpr> sizes;
      for (const Sym& value : values)
        sizes.push_back(tracer_.simplify(as<ArrayValue>(value).type.dims[axis]));
      const bool is_one = std::all_of(sizes.begin(), sizes.end(), [&](const SizeExpr& size) {
        return is_one_size(tracer_, size, sizes[0]);
      });
      if (is_one && !start_.contains(tracer_, std::make_shared<SizeValue>(sizes[0]))) continue;
      type->changing.resize(type->type.dims.size(), -1);
      const auto known = std::find(size_classes_.begin(), size_classes_.end(), sizes);
      type->changing[axis] = static_cast<int>(known - size_classes_.begin());
      if (known == size_classes_.end()) size_classes_.push_back(std::move(sizes));
    }
  }

  Tracer& tracer_;
  const std::vector<PathEnd>& paths_;
  const RegionStart& start_;
  std::vector<std::vector<std::pair<std::shared_ptr<Carrier>, Sym>>> stores_;  // by path
  std::vector<std::pair<std::vector<Sym>, Sym>> merged_;
  SizeSymbols sizes_;
  std::vector<std::vector<SizeExpr>> size_classes_;  // by number; of each path
};

}  // namespace

Meeting merge_paths(Tracer& tracer, const std::vector<PathEnd>& paths, const RegionStart& start,
                    const std::vector<bool>& live) {
  NUMLIFT_CHECK(!paths.empty(), "no path to merge");
  Merger merger(tracer, paths, start);
  Meeting meeting;
  std::vector<Sym> values(paths.size());
  if (paths[0].returned) {
    for (size_t i = 0; i < paths.size(); ++i) {
      NUMLIFT_CHECK(paths[i].returned, "a path meets others that return");
      values[i] = paths[i].returned;
    }
    meeting.returned = merger.merge(values);
    merger.finish();
    return meeting;
  }
  const FrameState& first = paths[0].state;
  meeting.state.slots.resize(first.slots.size());
  for (size_t slot = 0; slot < first.slots.size(); ++slot) {
    bool all_set = true;
    for (size_t i = 0; i < paths.size(); ++i) {
      values[i] = paths[i].state.slots[slot];
      all_set = all_set && values[i];
    }
    if (!live[slot]) continue;
    const bool none_set =
        std::none_of(values.begin(), values.end(), [](const Sym& value) { return bool(value); });
    if (none_set) continue;
    if (!all_set) refuse_loop("a variable is set on some paths only");
    meeting.state.slots[slot] = merger.merge(values);
  }
  for (size_t k = 0; k < first.stack.size(); ++k) {
    for (size_t i = 0; i < paths.size(); ++i) {
      NUMLIFT_CHECK(paths[i].state.stack.size() == first.stack.size(),
                    "paths meet with stacks of {} and {} values", first.stack.size(),
                    paths[i].state.stack.size());
      values[i] = paths[i].state.stack[k];
    }
    meeting.state.stack.push_back(merger.merge(values));
  }
  merger.finish();
  return meeting;
}

// ---------------------------------------------------------------- heap

namespace {

// What may change of an object, as numbers that are equal as long as it does not.
std::vector<const void*> image_of(const Sym& value) {
  std::vector<const void*> image;
  const auto number = [&](uint64_t n) { image.push_back(reinterpret_cast<const void*>(n)); };
  switch (value->kind) {
    case SymKind::kSet:
      number(as<SetValue>(value).changes);
      break;
    case SymKind::kObject: {
      const auto& object = as<ObjectValue>(value);
      if (!object.state) break;
      for (const auto& [name, content] : object.state->attributes) {
        image.push_back(name.get());
        image.push_back(content.get());
      }
      number(object.state->appended.size());
      number(object.state->entries.size());
      number(object.state->calls.size());
      image.push_back(object.state->content.get());
      break;
    }
    case SymKind::kIterator: {
      const auto shape = as<IteratorValue>(value).shape();
      if (!shape) {
        number(1);
        break;
      }
      number(static_cast<uint64_t>(shape->advance));
      number(static_cast<uint64_t>(shape->place.value_or(0)));
      break;
    }
    case SymKind::kCell: {
      // The content of a cell from outside is looked up when it is needed: no change.
      const auto& cell = as<CellValue>(value);
      if (!cell.outside || cell.is_changed) image.push_back(cell.content.get());
      break;
    }
    case SymKind::kList:
    case SymKind::kDict:
    case SymKind::kFunction:
      visit_parts(*value, [&](const Sym& part) { image.push_back(part.get()); });
      break;
    default:
      break;
  }
  return image;
}

}  // namespace

HeapImage::HeapImage(const Frame& innermost) {
  std::map<const SymbolicValue*, Sym> seen;
  std::vector<Sym> pending;
  const auto add = [&](const Sym& value) {
    if (value && seen.emplace(value.get(), value).second) pending.push_back(value);
  };
  for (const Frame* frame = &innermost; frame != nullptr; frame = frame->caller) {
    for (const Sym& value : frame->slots) add(value);
    for (const Sym& value : frame->stack) add(value);
    for (const auto& cell : frame->closure) add(cell);
    if (frame->names) add(frame->names);
  }
  while (!pending.empty()) {
    const Sym value = std::move(pending.back());
    pending.pop_back();
    objects_.emplace_back(value, image_of(value));
    if (value->kind == SymKind::kIterator) continue;  // parts of shapes are made for the occasion
    visit_parts(*value, add);
  }
}

void HeapImage::check_unchanged() const {
  for (const auto& [value, image] : objects_) {
    if (image_of(value) != image)
      refuse_loop(
          fmt::format("a {} changes in a loop or branch that the program "
                      "itself runs",
                      type_name(value)));
  }
}

}  // namespace numlift::frame_eval
