// Flattening guards. A source is read once per call into its slot; steps come in an order in which
// every slot is filled before it is used, and a step that fails ends the check.
//
// Static sources are those that a dict decides alone: globals, attributes of modules, items of
// tuples found there. They are read and checked again only when one of those dicts has changed, so
// that in the usual call all of them together cost one comparison a dict.
#include "numlift/guards/guard_set.h"

#include <algorithm>

#include <fmt/format.h>

#include "array_class.h"
#include "dict_lookup.h"
#include "dict_version.h"
#include "numlift/graph/text.h"
#include "numlift/numpy_shim/dtypes.h"

namespace numlift::guards {
namespace {

constexpr uint64_t kNeverSeen = ~uint64_t{0};

bool same_source(const Source& a, const Source& b) {
  if (a.kind != b.kind || a.index != b.index || a.object.get() != b.object.get()) return false;
  if ((a.kind == Source::Kind::kAttribute || a.kind == Source::Kind::kTypeAttribute ||
       a.kind == Source::Kind::kGlobal) &&
      a.name.get() != b.name.get()) {
    return false;
  }
  if (a.parent == b.parent) return true;
  return a.parent && b.parent && same_source(*a.parent, *b.parent);
}

std::span<const SourcePtr> other_sources(const Predicate& predicate) {
  if (const auto* same = std::get_if<IsSame>(&predicate)) return {&same->other, 1};
  if (const auto* distinct = std::get_if<AreDistinct>(&predicate)) return distinct->others;
  return {};
}

bool makes_reading_safe(const Predicate& predicate, bool is_array) {
  if (is_array) return std::holds_alternative<IsArray>(predicate);
  return std::holds_alternative<HasType>(predicate) || std::holds_alternative<IsInt64>(predicate) ||
         std::holds_alternative<EqualsConstant>(predicate);
}

bool uses_extern_symbols(const SizeGuard& guard, const std::vector<Symbol>& symbols) {
  std::vector<SymbolId> used;
  guard.left.collect_symbols(&used);
  guard.right.collect_symbols(&used);
  return std::any_of(used.begin(), used.end(), [&](SymbolId id) {
    return symbols[static_cast<size_t>(id)].kind == SymbolKind::kExternDim;
  });
}

}  // namespace

GuardSet::GuardSet(std::vector<Guard> guards, const std::vector<InputSource>& inputs,
                   const std::vector<Symbol>& symbols, const std::vector<SizeGuard>& size_guards,
                   const CallInputs& now)
    : guards_(std::move(guards)), symbol_count_(symbols.size()) {
  for (const Guard& guard : guards_) guard_slots_.push_back(slot_of(guard.source, now));
  for (const Guard& guard : guards_) {
    guard_others_.emplace_back();
    for (const SourcePtr& other : other_sources(guard.predicate)) {
      guard_others_.back().push_back(slot_of(other, now));
    }
  }
  guard_writeable_.resize(guards_.size());
  for (const InputSource& input : inputs) {
    const uint32_t slot = slot_of(input.source, now);
    input_slots_.push_back(slot);
    bool is_safe = false;
    for (size_t i = 0; i < guards_.size(); ++i) {
      if (guard_slots_[i] != slot) continue;
      if (input.stored_to) guard_writeable_[i] = true;
      is_safe = is_safe || makes_reading_safe(guards_[i].predicate, input.is_array);
    }
    NUMLIFT_CHECK(is_safe, "no guard on the type of input {}", input.source->text());
  }

  read_emitted_.resize(slots_.size());
  symbol_emitted_.resize(symbols.size());
  std::vector<uint32_t> later;
  for (uint32_t i = 0; i < guards_.size(); ++i) {
    if (slots_[guard_slots_[i]].source->kind == Source::Kind::kArgument)
      emit_guard(i, symbols);
    else if (is_static_guard(i))
      static_guards_.push_back(i);
    else
      later.push_back(i);
  }
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].is_static) continue;
    static_slots_.push_back(slot);
    read_emitted_[slot] = true;
  }
  static_values_.resize(static_slots_.size());
  if (!static_slots_.empty()) steps_.push_back(Step{.kind = Step::Kind::kStatic});
  for (uint32_t guard : later) emit_guard(guard, symbols);
  for (uint32_t slot : input_slots_) emit_read(slot);
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const bool is_set_by_run =
        symbols[i].kind == SymbolKind::kExternDim || symbols[i].kind == SymbolKind::kRun;
    if (is_set_by_run || symbol_emitted_[i]) continue;
    const bool is_dim = symbols[i].kind == SymbolKind::kDim;
    steps_.push_back(Step{.kind = is_dim ? Step::Kind::kDim : Step::Kind::kSymbol,
                          .axis = static_cast<uint8_t>(symbols[i].axis),
                          .symbol_kind = symbols[i].kind,
                          .slot = input_slots_.at(symbols[i].input),
                          .index = i});
  }
  for (const SizeGuard& guard : size_guards) {
    // Those on the sizes of an extern's result are checked when it is there (run_program).
    if (uses_extern_symbols(guard, symbols)) continue;
    Step step{.kind = Step::Kind::kSize, .index = static_cast<uint32_t>(size_guards_.size())};
    const auto left = guard.left.as_symbol(), right = guard.right.as_symbol();
    if (guard.relation == SizeGuard::Relation::kEqual && left && right) {
      step.kind = Step::Kind::kEqual;
      step.slot = static_cast<uint32_t>(*left);
      step.other = static_cast<uint32_t>(*right);
    }
    steps_.push_back(step);
    size_guards_.push_back(guard);
    compiled_size_guards_.push_back(
        {guard.relation, CompiledSize(guard.left), CompiledSize(guard.right)});
  }
}

bool GuardSet::is_argument(uint32_t input) const {
  return slots_[input_slots_[input]].source->kind == Source::Kind::kArgument;
}

uint32_t GuardSet::slot_of(const SourcePtr& source, const CallInputs& now) {
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].source == source || same_source(*slots_[i].source, *source)) return i;
  }
  Slot slot{source, -1, false};
  if (source->parent) slot.parent = static_cast<int32_t>(slot_of(source->parent, now));
  slot.is_static = is_static_source(*source, slot.parent, now);
  slots_.push_back(std::move(slot));
  return static_cast<uint32_t>(slots_.size() - 1);
}

bool GuardSet::is_static_source(const Source& source, int32_t parent, const CallInputs& now) {
  const bool parent_is_static = parent >= 0 && slots_[static_cast<size_t>(parent)].is_static;
  const BorrowedRef owner = parent_is_static ? source.parent->read(now) : BorrowedRef();
  switch (source.kind) {
    case Source::Kind::kConstant:
      return true;
    case Source::Kind::kGlobal:
      watch(source.object);
      if (!dict_get(source.object, source.name)) {
        const BorrowedRef builtins = builtins_of(source.object);
        if (!builtins) return false;
        watch(builtins);
      }
      return true;
    case Source::Kind::kAttribute:
      if (!owner || !PyModule_CheckExact(owner.get())) return false;
      watch(PyModule_GetDict(owner.get()));
      return true;
    case Source::Kind::kItem:
      return owner && PyTuple_CheckExact(owner.get());
    case Source::Kind::kArgument:
    case Source::Kind::kClosure:
    case Source::Kind::kCell:
    case Source::Kind::kCellContent:
    case Source::Kind::kPart:
    case Source::Kind::kTypeAttribute:
    case Source::Kind::kDictItem:
    case Source::Kind::kHandledException:
      return false;
  }
  NUMLIFT_UNREACHABLE();
}

// Whether the answer can change only when the static source reads another object.
bool GuardSet::is_static_guard(uint32_t guard) const {
  if (!slots_[guard_slots_[guard]].is_static) return false;
  const Predicate& predicate = guards_[guard].predicate;
  if (const auto* type = std::get_if<HasType>(&predicate)) {
    // Instances of Python classes can change their class.
    return !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type->type.get()),
                              Py_TPFLAGS_HEAPTYPE);
  }
  return std::holds_alternative<IsObject>(predicate) ||
         std::holds_alternative<EqualsConstant>(predicate) ||
         std::holds_alternative<IsInt64>(predicate) || std::holds_alternative<IsAbsent>(predicate);
}

void GuardSet::watch(BorrowedRef dict) {
  for (const WatchedDict& one : static_dicts_) {
    if (one.dict.get() == dict.get()) return;
  }
  static_dicts_.push_back({Ref::create(dict), kNeverSeen});
}

void GuardSet::emit_read(uint32_t slot) {
  if (read_emitted_[slot]) return;
  if (slots_[slot].parent >= 0) emit_read(static_cast<uint32_t>(slots_[slot].parent));
  read_emitted_[slot] = true;
  steps_.push_back(Step{.kind = Step::Kind::kRead, .slot = slot});
}

// False when the guard is not one of those.
bool GuardSet::emit_packed(uint32_t guard, const std::vector<Symbol>& symbols) {
  const uint32_t slot = guard_slots_[guard];
  const Source& source = *slots_[slot].source;
  const auto* array = std::get_if<IsArray>(&guards_[guard].predicate);
  if (array == nullptr || source.kind != Source::Kind::kArgument || read_emitted_[slot])
    return false;
  const ArrayClass& wanted = array->array_class;
  if (wanted.layout != ArrayClass::Layout::kC || wanted.size_one != 0) return false;
  // The symbols of its dims follow each other.
  const auto is_dim = [&](const Symbol& symbol, uint32_t axis) {
    return symbol.kind == SymbolKind::kDim && symbol.axis == axis &&
           input_slots_[symbol.input] == slot;
  };
  const auto rank = static_cast<uint32_t>(wanted.rank);
  uint32_t first = 0;
  while (rank != 0 && first < symbols.size() && !is_dim(symbols[first], 0)) ++first;
  if (first + rank > symbols.size()) return false;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (!is_dim(symbols[first + axis], axis)) return false;
  }
  for (uint32_t axis = 0; axis < rank; ++axis) symbol_emitted_[first + axis] = true;
  read_emitted_[slot] = true;
  const int writeable = guard_writeable_[guard] ? NPY_ARRAY_WRITEABLE : 0;
  steps_.push_back(Step{.kind = Step::Kind::kPacked,
                        .writeable = guard_writeable_[guard],
                        .slot = slot,
                        .index = first,
                        .argument = static_cast<uint32_t>(source.index),
                        .guard = guard,
                        .rank = wanted.rank,
                        .flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | writeable,
                        .descr = numpy_shim::descr_of(wanted.dtype)});
  return true;
}

void GuardSet::emit_guard(uint32_t guard, const std::vector<Symbol>& symbols) {
  if (emit_packed(guard, symbols)) return;
  emit_read(guard_slots_[guard]);
  Step step{.kind = Step::Kind::kCheck,
            .writeable = guard_writeable_[guard],
            .slot = guard_slots_[guard],
            .index = guard};
  if (std::holds_alternative<IsArray>(guards_[guard].predicate)) step.kind = Step::Kind::kArray;
  if (std::holds_alternative<HasType>(guards_[guard].predicate)) step.kind = Step::Kind::kType;
  if (!guard_others_[guard].empty()) step.kind = Step::Kind::kRelated;
  for (const uint32_t other : guard_others_[guard]) emit_read(other);
  steps_.push_back(step);
}

// Says what check_array() says of such a class.
inline bool GuardSet::check_packed(const Step& step, PyObject* object, int64_t* symbols) const {
  if (object == nullptr || !PyArray_CheckExact(object)) return false;
  PyArrayObject* array = numpy_shim::as_array(object);
  if (PyArray_NDIM(array) != step.rank || (PyArray_FLAGS(array) & step.flags) != step.flags) {
    return false;
  }
  if (reinterpret_cast<PyObject*>(PyArray_DESCR(array)) != step.descr &&
      !check_array(object, std::get_if<IsArray>(&guards_[step.guard].predicate)->array_class,
                   step.writeable)) {
    return false;
  }
  const npy_intp* dims = PyArray_DIMS(array);
  symbols += step.index;
  for (int axis = 0; axis < step.rank; ++axis) {
    if (dims[axis] == 1) return false;
    symbols[axis] = dims[axis];
  }
  return true;
}

bool GuardSet::check_related(uint32_t guard, PyObject* const* slots) const {
  PyObject* const first = slots[guard_slots_[guard]];
  const std::vector<uint32_t>& others = guard_others_[guard];
  if (std::holds_alternative<IsSame>(guards_[guard].predicate)) return first == slots[others[0]];
  if (others.size() == 1) return first != slots[others[0]];
  constexpr size_t kUsualCount = 64;
  PyObject* usual[kUsualCount];
  std::vector<PyObject*> many;
  PyObject** objects = usual;
  if (others.size() + 1 > kUsualCount) {
    many.resize(others.size() + 1);
    objects = many.data();
  }
  size_t count = 0;
  objects[count++] = first;
  for (const uint32_t other : others) {
    if (slots[other] != nullptr) objects[count++] = slots[other];
  }
  std::sort(objects, objects + count, std::less<>());
  return std::adjacent_find(objects, objects + count) == objects + count;
}

BorrowedRef GuardSet::read_slot(uint32_t slot, const CallInputs& inputs,
                                PyObject* const* slots) const {
  const Slot& one = slots_[slot];
  return one.source->read_from(one.parent < 0 ? nullptr : slots[one.parent], inputs);
}

bool GuardSet::check_static(const CallInputs& inputs, PyObject** slots) {
  bool same = kDictsHaveVersions && static_read_;
  for (const WatchedDict& one : static_dicts_)
    same = same && dict_version(one.dict.get()) == one.version;
  if (same) {
    for (size_t i = 0; i < static_slots_.size(); ++i) slots[static_slots_[i]] = static_values_[i];
    return true;
  }
  for (size_t i = 0; i < static_slots_.size(); ++i) {
    slots[static_slots_[i]] = static_values_[i] = read_slot(static_slots_[i], inputs, slots);
  }
  for (uint32_t guard : static_guards_) {
    if (!holds(guards_[guard].predicate, slots[guard_slots_[guard]], false)) {
      // The values kept may be those of a change that did not matter; never use them again.
      for (WatchedDict& one : static_dicts_) one.version = kNeverSeen;
      static_read_ = false;
      return false;
    }
  }
  for (WatchedDict& one : static_dicts_) one.version = dict_version(one.dict.get());
  static_read_ = true;
  return true;
}

bool GuardSet::check(const CallInputs& inputs, PyObject** slots, int64_t* symbols) {
  const Step* const end = steps_.data() + steps_.size();
  const Step* next = steps_.data();
  for (; next != end && next->kind == Step::Kind::kPacked; ++next) {
    PyObject* object = slots[next->slot] = inputs.arguments[next->argument];
    if (!check_packed(*next, object, symbols)) return false;
  }
  for (; next != end; ++next) {
    const Step& step = *next;
    switch (step.kind) {
      case Step::Kind::kRead: {
        const Source& source = *slots_[step.slot].source;
        slots[step.slot] = source.kind == Source::Kind::kArgument
                               ? inputs.arguments[source.index]
                               : read_slot(step.slot, inputs, slots).get();
        break;
      }
      case Step::Kind::kStatic:
        if (!check_static(inputs, slots)) return false;
        break;
      case Step::Kind::kCheck:
        if (!holds(guards_[step.index].predicate, slots[step.slot], step.writeable)) return false;
        break;
      case Step::Kind::kRelated:
        if (!check_related(step.index, slots)) return false;
        break;
      case Step::Kind::kArray:
        if (slots[step.slot] == nullptr ||
            !check_array(slots[step.slot],
                         std::get_if<IsArray>(&guards_[step.index].predicate)->array_class,
                         step.writeable)) {
          return false;
        }
        break;
      case Step::Kind::kPacked:
        slots[step.slot] = inputs.arguments[step.argument];
        if (!check_packed(step, slots[step.slot], symbols)) return false;
        break;
      case Step::Kind::kType:
        if (slots[step.slot] == nullptr ||
            reinterpret_cast<PyObject*>(Py_TYPE(slots[step.slot])) !=
                std::get_if<HasType>(&guards_[step.index].predicate)->type.get()) {
          return false;
        }
        break;
      case Step::Kind::kDim:
        symbols[step.index] = PyArray_DIMS(numpy_shim::as_array(slots[step.slot]))[step.axis];
        break;
      case Step::Kind::kSymbol:
        switch (step.symbol_kind) {
          case SymbolKind::kStride:
            symbols[step.index] =
                PyArray_STRIDES(numpy_shim::as_array(slots[step.slot]))[step.axis];
            break;
          case SymbolKind::kInt:
            symbols[step.index] = PyLong_AsLongLong(slots[step.slot]);
            break;
          case SymbolKind::kDim:
          case SymbolKind::kExternDim:
          case SymbolKind::kRun:
            break;
        }
        break;
      case Step::Kind::kEqual:
        if (symbols[step.slot] != symbols[step.other]) return false;
        break;
      case Step::Kind::kSize:
        if (!compiled_size_guards_[step.index].holds({symbols, symbol_count_})) return false;
        break;
    }
  }
  return true;
}

std::string GuardSet::explain_miss(const CallInputs& inputs) {
  std::vector<PyObject*> slots(slots_.size());
  std::vector<int64_t> symbols(symbol_count_);
  const auto explain = [&](uint32_t index) -> std::string {
    const Guard& guard = guards_[index];
    const BorrowedRef value = slots[guard_slots_[index]];
    const bool ok = guard_others_[index].empty()
                        ? holds(guard.predicate, value, guard_writeable_[index])
                        : check_related(index, slots.data());
    if (ok) return "";
    return fmt::format("{}: found {}; expected {} ({})", guard.source->text(),
                       found_text(guard.predicate, value), predicate_text(guard.predicate),
                       guard.reason);
  };
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    slots[slot] = read_slot(slot, inputs, slots.data());
  for (uint32_t i = 0; i < guards_.size(); ++i) {
    if (std::string text = explain(i); !text.empty()) return text;
  }
  // The types are right: sizes can be read.
  if (check(inputs, slots.data(), symbols.data())) return "";
  for (size_t i = 0; i < size_guards_.size(); ++i) {
    if (compiled_size_guards_[i].holds(symbols)) continue;
    const auto left = size_guards_[i].left.evaluate(symbols),
               right = size_guards_[i].right.evaluate(symbols);
    return fmt::format("sizes: found {} and {} for {} and {} ({})",
                       left ? fmt::to_string(*left) : "overflow",
                       right ? fmt::to_string(*right) : "overflow", size_guards_[i].left.text(),
                       size_guards_[i].right.text(), size_guards_[i].reason);
  }
  return "";
}

std::string GuardText::line() const {
  const bool is_placed = place.empty() || reason.find(place) != std::string::npos;
  return fmt::format("{}{} ({}{})", kind == "sizes" ? "" : source + ": ", condition, reason,
                     is_placed ? "" : " at " + place);
}

std::vector<GuardText> GuardSet::texts() const {
  const auto guard_text = [&](uint32_t index) {
    const Guard& guard = guards_[index];
    return GuardText{guard.source->text(), predicate_kind(guard.predicate),
                     predicate_text(guard.predicate), guard.reason, guard.place};
  };
  std::vector<GuardText> lines;
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Step::Kind::kCheck:
      case Step::Kind::kRelated:
      case Step::Kind::kArray:
      case Step::Kind::kType:
        lines.push_back(guard_text(step.index));
        break;
      case Step::Kind::kPacked:
        lines.push_back(guard_text(step.guard));
        break;
      case Step::Kind::kStatic:
        for (uint32_t guard : static_guards_) lines.push_back(guard_text(guard));
        break;
      case Step::Kind::kSize:
      case Step::Kind::kEqual: {
        const SizeGuard& guard = size_guards_[step.index];
        lines.push_back({"sizes", "sizes",
                         fmt::format("{} {} {}", guard.left.text(), relation_word(guard.relation),
                                     guard.right.text()),
                         guard.reason, guard.place});
        break;
      }
      case Step::Kind::kRead:
      case Step::Kind::kSymbol:
      case Step::Kind::kDim:
        break;
    }
  }
  return lines;
}

void GuardSet::collect_refs(RefCollector* collector) const {
  for (const Guard& guard : guards_) collector->add(guard);
  for (const Slot& slot : slots_) collector->add(slot.source);
  for (const WatchedDict& watched : static_dicts_) collector->add(watched.dict);
}

void RefCollector::add(const SourcePtr& source) {
  if (!source || std::find(seen_.begin(), seen_.end(), source.get()) != seen_.end()) return;
  seen_.push_back(source.get());
  add(source->name);
  add(source->object);
  add(source->parent);
}

void RefCollector::add(const Guard& guard) {
  add(guard.source);
  if (const auto* p = std::get_if<IsObject>(&guard.predicate)) add(p->object);
  if (const auto* p = std::get_if<HasType>(&guard.predicate)) add(p->type);
  if (const auto* p = std::get_if<EqualsConstant>(&guard.predicate)) add(p->value);
  if (const auto* p = std::get_if<HasKeys>(&guard.predicate)) add(p->keys);
  if (const auto* p = std::get_if<Compares>(&guard.predicate)) add(p->constant);
  for (const SourcePtr& other : other_sources(guard.predicate)) add(other);
  if (const auto* p = std::get_if<FunctionIs>(&guard.predicate)) {
    add(p->code);
    add(p->defaults);
    add(p->kwdefaults);
    add(p->globals);
  }
}

}  // namespace numlift::guards
