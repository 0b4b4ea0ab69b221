// Tracer: changes of objects from outside. They are recorded while the code is traced and made when
// the program has run, so that a program that restarts has changed nothing.
#include <algorithm>
#include <map>

#include "symbolic/tracer_state.h"

namespace numlift::frame_eval {

using guards::Source;
using guards::SourcePtr;

void Tracer::announce_effect(const CallShape& call) {
  if (in_region()) refuse_loop("an object from outside is changed in a loop");
  if (before_effect) before_effect(call);
}

void Tracer::record_effect(const Sym& owner, CallShape call) {
  announce_effect(call);
  effects_.push_back({owner, {}, std::move(call)});
}

void Tracer::record_release(uint32_t index, const Sym& value) {
  effects_.push_back({value, {}, {}, index});
}

void Tracer::record_set(const Sym& owner, BorrowedRef key, CallShape call) {
  announce_effect(call);
  for (auto effect = effects_.rbegin(); effect != effects_.rend(); ++effect) {
    if (effect->owner != owner) continue;
    if (!effect->key) break;
    if (effect->key.get() == key.get()) {
      effect->call = std::move(call);
      return;
    }
  }
  effects_.push_back({owner, Ref::create(key), std::move(call)});
}

void Tracer::add_identity(BorrowedRef object, const Sym& made) {
  state_->identities.emplace(object.get(), made);
}

bool Tracer::guard_two(const Sym& a, const Sym& b) {
  const auto is_known = [&](const Sym& value) {
    const auto found =
        state_->identities.find(static_cast<const ObjectValue&>(*value).object.get());
    return found != state_->identities.end() && found->second == value;
  };
  if (!is_known(a) || !is_known(b)) return false;
  guard(a->source, guards::AreDistinct{{b->source}}, "identity at " + location_text());
  return true;
}

void Tracer::add_changed_globals(BorrowedRef globals) {
  for (const Ref& known : state_->changed_globals) {
    if (known.get() == globals.get()) return;
  }
  state_->changed_globals.push_back(Ref::create(globals));
}

namespace {

bool is_changed(const SymbolicValue& value) {
  if (value.kind == SymKind::kCell) return static_cast<const CellValue&>(value).is_changed;
  return value.kind == SymKind::kObject && static_cast<const ObjectValue&>(value).state != nullptr;
}

bool has_own_dict(PyObject* object) {
  PyObject** dict = _PyObject_GetDictPtr(object);
  return dict != nullptr && *dict != nullptr;
}

// The dicts of modules and functions' globals that guards read.
void collect_namespaces(const Source& source, const guards::CallInputs& call,
                        std::map<PyObject*, SourcePtr>* found) {
  if (source.kind == Source::Kind::kGlobal)
    found->emplace(source.object.get(), Source::constant(source.object));
  if (source.kind == Source::Kind::kAttribute) {
    const BorrowedRef owner = source.parent->read(call);
    if (owner && PyModule_Check(owner.get())) {
      BorrowedRef dict = PyModule_GetDict(owner.get());
      found->emplace(dict.get(), Source::constant(dict));
    }
  }
  if (source.parent) collect_namespaces(*source.parent, call, found);
}

}  // namespace

// A change of one object is not seen through another value: what was changed is none of the other
// objects of its type that the trace knows. A dict may also be what holds an instance's attributes
// or a module's globals.
void Tracer::guard_distinct() {
  std::map<PyTypeObject*, std::vector<SourcePtr>> by_type;
  std::map<PyTypeObject*, bool> changed;
  for (const auto& [object, value] : state_->identities) {
    by_type[Py_TYPE(object)].push_back(value->source);
    if (is_changed(*value)) changed[Py_TYPE(object)] = true;
  }
  std::vector<SourcePtr>& dicts = by_type[&PyDict_Type];
  std::map<PyObject*, SourcePtr> namespaces;
  if (!state_->changed_globals.empty() || changed[&PyDict_Type]) {
    for (const guards::Guard& guard : state_->guards)
      collect_namespaces(*guard.source, state_->call, &namespaces);
    for (const Ref& globals : state_->changed_globals)
      namespaces.emplace(globals.get(), Source::constant(globals));
    if (!dicts.empty()) changed[&PyDict_Type] = true;
  }
  for (const auto& [object, value] : state_->identities) {
    // An instance's own dict, where that is an object that others may hold, too.
    if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) && !dicts.empty() &&
        (changed[&PyDict_Type] || changed[Py_TYPE(object)]) && has_own_dict(object)) {
      namespaces.emplace(*_PyObject_GetDictPtr(object),
                         Source::part(value->source, Source::Part::kInstanceDict));
      changed[&PyDict_Type] = true;
    }
  }
  for (const auto& [dict, source] : namespaces) {
    if (state_->identities.contains(dict)) {
      throw Break{"side_effect", "a dict is changed that holds the attributes of an object",
                  state_->identities.at(dict)->born};
    }
    if (changed[&PyDict_Type]) dicts.push_back(source);
  }
  for (auto& [type, sources] : by_type) {
    if (!changed[type] || sources.size() < 2) continue;
    std::sort(sources.begin(), sources.end(), [](const SourcePtr& a, const SourcePtr& b) {
      return (a->kind == Source::Kind::kConstant) < (b->kind == Source::Kind::kConstant) ||
             ((a->kind == Source::Kind::kConstant) == (b->kind == Source::Kind::kConstant) &&
              a->text() < b->text());
    });
    guard(sources[0], guards::AreDistinct{{sources.begin() + 1, sources.end()}},
          fmt::format("a {} is changed", type->tp_name));
  }
}

}  // namespace numlift::frame_eval
