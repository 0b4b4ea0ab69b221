// numlift.CompiledFunction: a callable object in front of a Python function.
//
// The call path: bind arguments, find the entry whose guards hold, run its program, return its
// result; no Python frame, no allocation but the result. Everything that is not as expected ends in
// a call of the original callable with the very same arguments. The boundary around a compiled call
// is run_call(): whatever goes wrong inside numlift, the user's call still gets CPython's answer.
#include "numlift/frame_eval/compiled_function.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "break_message.h"
#include "call_record.h"
#include "cpython/eval_frame.h"
#include "cpython/thread_state.h"
#include "error_region.h"
#include "function_state.h"
#include "run_call.h"
#include "numlift/numpy_shim/allocator.h"
#include "numlift/py/py_error.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"

namespace numlift::frame_eval {
namespace {

struct CompiledFunction {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
  FunctionState* state;
};

PyTypeObject* type_object = nullptr;  // kept for the process
FunctionState* all_states = nullptr;
uint64_t drops = 0;

FunctionState& state_of(BorrowedRef self) {
  return *reinterpret_cast<CompiledFunction*>(self.get())->state;
}

PyObject* call_original(FunctionState& state, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) {
  if (!state.callable) {  // cleared by the garbage collector
    PyErr_SetString(PyExc_RuntimeError, "a compiled function is called while it is being deleted");
    return nullptr;
  }
  PyThreadState* thread = PyThreadState_Get();
  const int entered = numlift_enter_original(thread);
  if (entered < 0) return nullptr;
  PyObject* const before =
      numlift_exchange_plain_function(reinterpret_cast<PyObject*>(state.function));
  PyObject* result = PyObject_Vectorcall(state.callable.get(), args, nargsf, keyword_names);
  numlift_exchange_plain_function(before);
  numlift_leave_original(thread, entered);
  return result;
}

void refresh_signature(FunctionState& state) {
  std::vector<std::unique_ptr<Entry>> dropped = state.take_entries();
  state.code = Ref::create(state.function->func_code);
  auto* code = reinterpret_cast<PyCodeObject*>(state.code.get());
  state.signature = Signature(code);
  // Their calls make an object and run later, piece by piece.
  state.plain = (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
  state.break_count = state.plain ? 1 : 0;
}

bool is_watched_for_breaks(const FunctionState& state) {
  return state.options.fullgraph || CallRecord::active() != nullptr ||
         ErrorRegion::wanted().has_value();
}

// What is no function with a body to trace, or one whose body runs later. False: an error is set.
bool report_never_traced(const FunctionState& state) noexcept {
  try {
    const auto why = why_never_traced(state);
    if (!why) return true;
    if (CallRecord* record = CallRecord::active()) record->leave(&state, *why);
    if (!state.options.fullgraph && ErrorRegion::wanted() != true) return true;
    raise_unsupported(*why);
  } catch (const PyError&) {
  }
  return false;
}

// The usual call: the entry used last has a program that needs no frame and returns, and its guards
// hold. False: as if nothing had been tried.
bool run_usual(FunctionState& state, const guards::CallInputs& call, PyObject** result) noexcept {
  if (state.start.plain || state.start.entries.empty() || CallRecord::active() != nullptr) {
    return false;
  }
  Entry& entry = *state.start.entries.front();
  const ProgramHost* program = entry.direct_program();
  if (program == nullptr || entry.exit != nullptr || entry.is_dead()) return false;
  const numpy_shim::ErrState* errstate = numpy_shim::known_errstate();
  if (errstate == nullptr || !entry.suits(*errstate)) return false;
  int64_t symbols[kMostDirectSymbols];
  PyObject* slots[kMostDirectSlots];
  try {
    if (!entry.guards().check(call, slots, symbols)) return false;
  } catch (...) {
    return false;
  }
  const EntryPin pin(&state, &entry);
  const Outcome outcome = program->run_direct(slots, symbols, result);
  if (outcome == Outcome::kRestart) return false;
  ++entry.hits;
  ++state.stats.hits;
  entry.restarts_in_row = 0;
  return true;
}

}  // namespace

Found run_bound(FunctionState& state, const guards::CallInputs& call, const Leaving* leaving,
                PyObject** result) noexcept {
  if (run_usual(state, call, result)) return *result == nullptr ? Found::kError : Found::kResult;
  return run_call(state, call, leaving, result);
}

bool steps_aside(PyCodeObject* code) {
  if (!numlift_is_watched(code)) return false;
  static bool is_said = false;
  if (log_enabled(LogChannel::breaks) && !std::exchange(is_said, true)) {
    log(LogChannel::breaks,
        "a debugger, a profiler or a tool of sys.monitoring looks on: CPython runs what it "
        "watches");
  }
  return true;
}

namespace {

PyObject* call_compiled(PyObject* self, PyObject* const* args, size_t nargsf,
                        PyObject* keyword_names) noexcept {
  FunctionState& state = state_of(self);
  ++state.stats.calls;
  PyFunctionObject* function = state.function;
  if (function != nullptr && function->func_code != state.code.get()) refresh_signature(state);
  Found found = Found::kCPython;
  PyObject* result = nullptr;
  if (function != nullptr && !state.plain && !options().disable &&
      current_stance.load(std::memory_order_relaxed) != Stance::kForceEager &&
      !steps_aside(reinterpret_cast<PyCodeObject*>(function->func_code))) {
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    const Signature& signature = state.signature;
    PyObject* called = reinterpret_cast<PyObject*>(function);
    if (keyword_names == nullptr && nargs == signature.positional && signature.is_plain() &&
        !state.self) {
      found = run_bound(state, {args, called}, nullptr, &result);
    } else {
      BoundArguments bound;
      if (bound.bind(signature, function, state.self.get(), args, nargs, keyword_names)) {
        found = run_bound(state, {bound.values(), called}, nullptr, &result);
      }
    }
  }
  if (found == Found::kResult) return result;
  if (found == Found::kError) return nullptr;
  ++state.stats.fallbacks;
  if (is_watched_for_breaks(state) && !report_never_traced(state)) return nullptr;
  return call_original(state, args, nargsf, keyword_names);
}

// ---------------------------------------------------------------- the type

PyObject* get_bound(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* object = reinterpret_cast<CompiledFunction*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object->dict);
  if (object->state == nullptr) return 0;
  const FunctionState& state = *object->state;
  Py_VISIT(state.callable.get());
  Py_VISIT(state.function_owner.get());
  Py_VISIT(state.self.get());
  Py_VISIT(state.code.get());
  Py_VISIT(state.options.users_backend.get());
  const auto visit_entries = [&](const std::vector<std::unique_ptr<Entry>>& entries) {
    for (const auto& entry : entries) {
      for (PyObject* owned : entry->owned()) Py_VISIT(owned);
    }
    return 0;
  };
  if (const int stop = visit_entries(state.retired)) return stop;
  if (const int stop = visit_entries(state.start.entries)) return stop;
  for (const auto& site : state.resume_sites.all()) {
    Py_VISIT(site->rest.get());
    for (const SuspendedFrame& frame : site->frames) Py_VISIT(frame.globals.get());
    if (const int stop = visit_entries(site->entries)) return stop;
  }
  return 0;
}

int clear(PyObject* self) {
  auto* object = reinterpret_cast<CompiledFunction*>(self);
  Py_CLEAR(object->dict);
  if (object->state == nullptr) return 0;
  FunctionState& state = *object->state;
  state.plain = true;
  state.function = nullptr;
  const std::vector<std::unique_ptr<Entry>> dropped = state.take_entries();
  const Ref callable = std::exchange(state.callable, Ref());
  const Ref function = std::exchange(state.function_owner, Ref());
  const Ref bound = std::exchange(state.self, Ref());
  const Ref backend = std::exchange(state.options.users_backend, Ref());
  const std::vector<std::unique_ptr<Site>> sites = state.resume_sites.take_all();
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<CompiledFunction*>(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  if (FunctionState* state = std::exchange(object->state, nullptr)) {
    unlink_state(state);
    delete state;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

Ref qualified_name(BorrowedRef self) {
  Ref name = Ref::steal(PyObject_GetAttrString(self, "__qualname__"));
  if (!name) {
    PyErr_Clear();
    name = Ref::steal(PyUnicode_FromString(state_of(self).name.c_str()));
  }
  return name;
}

PyObject* repr(PyObject* self) {
  Ref name = qualified_name(self);
  if (!name) return nullptr;
  Ref module = Ref::steal(PyObject_GetAttrString(self, "__module__"));
  if (!module) PyErr_Clear();
  if (!module || !PyUnicode_Check(module.get())) {
    return PyUnicode_FromFormat("<numlift.CompiledFunction %U>", name.get());
  }
  return PyUnicode_FromFormat("<numlift.CompiledFunction %U.%U>", module.get(), name.get());
}

// Pickled by reference, as functions are.
PyObject* reduce(PyObject* self, PyObject*) { return qualified_name(self).release(); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunction, weak_references), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};
// What inspect looks for to take an object for a function (and to tell coroutine functions).
template <PyObject* PyFunctionObject::* field>
PyObject* get_part(PyObject* self, void*) {
  const FunctionState& state = state_of(self);
  if (state.function == nullptr || state.self) {
    PyErr_SetString(PyExc_AttributeError, "what is compiled is no plain Python function");
    return nullptr;
  }
  PyObject* part = state.function->*field;
  return Py_NewRef(part == nullptr ? Py_None : part);
}

// Those of what is compiled, made when they are asked for, unless others were set.
PyObject* get_annotations(PyObject* self, void*) {
  auto* object = reinterpret_cast<CompiledFunction*>(self);
  PyObject* own =
      object->dict == nullptr ? nullptr : PyDict_GetItemString(object->dict, "__annotations__");
  if (own != nullptr) return Py_NewRef(own);
  return PyObject_GetAttrString(state_of(self).callable.get(), "__annotations__");
}

int set_annotations(PyObject* self, PyObject* value, void*) {
  const Ref dict = Ref::steal(PyObject_GenericGetDict(self, nullptr));
  if (!dict) return -1;
  return value == nullptr ? PyDict_DelItemString(dict.get(), "__annotations__")
                          : PyDict_SetItemString(dict.get(), "__annotations__", value);
}

PyGetSetDef properties[] = {
    {"__annotations__", get_annotations, set_annotations, nullptr, nullptr},
    {"__code__", get_part<&PyFunctionObject::func_code>, nullptr, nullptr, nullptr},
    {"__defaults__", get_part<&PyFunctionObject::func_defaults>, nullptr, nullptr, nullptr},
    {"__kwdefaults__", get_part<&PyFunctionObject::func_kwdefaults>, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class F>
void* slot_function(F* function) {
  return reinterpret_cast<void*>(function);
}

Ref make_type() {
  PyType_Slot slots[] = {{Py_tp_call, slot_function(PyVectorcall_Call)},
                         {Py_tp_descr_get, slot_function(get_bound)},
                         {Py_tp_traverse, slot_function(traverse)},
                         {Py_tp_clear, slot_function(clear)},
                         {Py_tp_dealloc, slot_function(deallocate)},
                         {Py_tp_repr, slot_function(repr)},
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {0, nullptr}};
  PyType_Spec spec{"numlift.CompiledFunction", sizeof(CompiledFunction), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                       Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  return checked(PyType_FromSpec(&spec));
}

// The Python function that calling `callable` runs, and the first argument it gets.
void find_function(BorrowedRef callable, FunctionState* state) {
  if (PyFunction_Check(callable.get())) {
    state->function_owner = Ref::create(callable);
  } else if (PyMethod_Check(callable.get()) &&
             PyFunction_Check(PyMethod_GET_FUNCTION(callable.get()))) {
    state->function_owner = Ref::create(PyMethod_GET_FUNCTION(callable.get()));
    state->self = Ref::create(PyMethod_GET_SELF(callable.get()));
  } else if (!PyType_Check(callable.get())) {
    Ref name = checked(PyUnicode_InternFromString("__call__"));
    PyObject* method = _PyType_Lookup(callable.type(), name.get());
    if (method == nullptr || !PyFunction_Check(method)) return;
    state->function_owner = Ref::create(method);
    state->self = Ref::create(callable);
  }
  state->function = reinterpret_cast<PyFunctionObject*>(state->function_owner.get());
}

std::string name_of(BorrowedRef callable) {
  Ref name = Ref::steal(PyObject_GetAttrString(callable, "__qualname__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? callable.type()->tp_name : text;
}

}  // namespace

std::vector<std::unique_ptr<Entry>> FunctionState::take_entries() {
  std::vector<std::unique_ptr<Entry>> taken;
  for_each_site([&](Site& site) {
    for (auto& entry : site.entries) {
      (entry->pins == 0 ? taken : retired).push_back(std::move(entry));
    }
    site.entries.clear();
    site.plain = false;
  });
  return taken;
}

void link_state(FunctionState* state) {
  state->next = all_states;
  if (all_states != nullptr) all_states->previous = state;
  all_states = state;
}

void unlink_state(FunctionState* state) {
  (state->previous == nullptr ? all_states : state->previous->next) = state->next;
  if (state->next != nullptr) state->next->previous = state->previous;
}

void FunctionState::sweep_retired() {
  std::vector<std::unique_ptr<Entry>> dropped;
  for (auto& entry : retired) {
    if (entry->pins == 0) dropped.push_back(std::move(entry));
  }
  std::erase_if(retired, [](const auto& entry) { return entry == nullptr; });
}

void initialize_compiled_function() {
  numlift_initialize_thread_state();
  type_object = reinterpret_cast<PyTypeObject*>(make_type().release());
}

PyTypeObject* compiled_function_type() { return type_object; }

Ref make_compiled_function(BorrowedRef callable, const CompileOptions& options) {
  if (BorrowedRef inner = wrapped_callable(callable)) callable = inner;
  auto* object = PyObject_GC_New(CompiledFunction, type_object);
  if (object == nullptr) throw PyError();
  object->vectorcall = call_compiled;
  object->dict = nullptr;
  object->weak_references = nullptr;
  object->state = nullptr;
  Ref result = Ref::steal(reinterpret_cast<PyObject*>(object));
  static PyCodeObject* const no_code = PyCode_NewEmpty("", "", 0);
  auto state = std::make_unique<FunctionState>(no_code);
  state->callable = Ref::create(callable);
  state->options = options;
  state->name = state->start.name = name_of(callable);
  find_function(callable, state.get());
  if (state->function != nullptr)
    refresh_signature(*state);
  else
    state->break_count = 1;
  link_state(state.get());
  object->state = state.release();
  PyObject_GC_Track(result.get());
  return result;
}

BorrowedRef wrapped_callable(BorrowedRef object) {
  if (object.type() != type_object) return {};
  return state_of(object).callable;
}

const CompileOptions& options_of(BorrowedRef compiled) { return state_of(compiled).options; }

CallStats stats_of(BorrowedRef compiled) { return state_of(compiled).stats; }

std::vector<EntryInfo> entries_of(BorrowedRef compiled) {
  std::vector<EntryInfo> infos;
  state_of(compiled).for_each_site([&](const Site& site) {
    for (const auto& entry : site.entries) {
      infos.push_back(entry->info());
      infos.back().site = site.name;
    }
  });
  return infos;
}

std::vector<std::string> cuda_sources_of(BorrowedRef compiled) {
  std::vector<std::string> sources;
  state_of(compiled).for_each_site([&](const Site& site) {
    for (const auto& entry : site.entries) sources.push_back(entry->cuda_source());
  });
  return sources;
}

std::optional<BreakInfo> why_never_traced(const FunctionState& state) {
  BreakInfo info;
  if (state.function == nullptr) {
    info.category = "unsupported_call";
    info.reason = state.name + " is not written in Python: there is nothing to trace";
    info.user_stack = {{"<built-in>", state.name, {}}};
    return info;
  }
  auto* code = reinterpret_cast<PyCodeObject*>(state.code.get());
  if (!(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return std::nullopt;
  info.category = "generator";
  info.reason = state.name + " is a generator or coroutine";
  info.user_stack = {first_line_of(state.code)};
  return info;
}

std::vector<CallEvent> record_call(BorrowedRef callable, BorrowedRef args, BorrowedRef kwargs) {
  CallRecord record;
  checked(PyObject_Call(callable.get(), args.get(), kwargs.get()));
  return record.take();
}

std::vector<std::string> explain_misses(BorrowedRef compiled, BorrowedRef args,
                                        BorrowedRef kwargs) {
  FunctionState& state = state_of(compiled);
  if (state.function == nullptr || state.function->func_code != state.code.get()) return {};
  const Ref names = checked(PySequence_Tuple(kwargs.get()));
  std::vector<PyObject*> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i) {
    all.push_back(PyTuple_GET_ITEM(args.get(), i));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    all.push_back(PyDict_GetItem(kwargs.get(), PyTuple_GET_ITEM(names.get(), i)));
  }
  BoundArguments bound;
  if (!bound.bind(state.signature, state.function, state.self.get(), all.data(),
                  PyTuple_GET_SIZE(args.get()),
                  PyTuple_GET_SIZE(names.get()) == 0 ? nullptr : names.get())) {
    return {};
  }
  const guards::CallInputs call{bound.values(), reinterpret_cast<PyObject*>(state.function)};
  std::vector<std::string> misses;
  for (const auto& entry : state.start.entries) {
    misses.push_back(entry->guards().explain_miss(call));
  }
  return misses;
}

std::optional<bool> exchange_error_on_break(std::optional<bool> wanted) {
  return ErrorRegion::exchange(wanted);
}

int break_count_of(BorrowedRef compiled) { return state_of(compiled).break_count; }

uint64_t drop_count() { return drops; }

void drop_entries() {
  ++drops;
  std::vector<std::unique_ptr<Entry>> dropped;
  for (FunctionState* state = all_states; state != nullptr; state = state->next) {
    for (auto& entry : state->take_entries()) dropped.push_back(std::move(entry));
    if (state->function != nullptr && state->owns_code)
      state->code = Ref();  // the next call looks at it afresh
  }
}

void reset_all() {
  drop_entries();
  clear_compile_log();
  numpy_shim::pool_release();
}

}  // namespace numlift::frame_eval
