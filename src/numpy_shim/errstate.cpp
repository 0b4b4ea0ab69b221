// NumPy keeps its error state in a context variable whose value is an immutable capsule: the same
// capsule is the same state. What a capsule says is asked of NumPy once and remembered for the last
// few of them (np.errstate as a context manager makes a new one each time it is entered).
#include "numlift/numpy_shim/errstate.h"

#include <array>

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

// Python objects here live as long as the process: NumPy's own module level objects, and the
// capsules compared against (kept, so that an address is never another capsule's).
struct State {
  PyObject* variable = nullptr;      // numpy's ContextVar
  PyObject* get_dict = nullptr;      // () -> {"divide": "warn", ...} of the state that is active
  PyObject* make_capsule = nullptr;  // (all=..., divide=..., ...) -> capsule
  struct Known {
    PyObject* capsule = nullptr;
    ErrState state;
  };
  std::array<Known, 4> known;
  size_t next = 0;
  std::array<PyObject*, kFpAll + 1> raising{};  // capsules by fp_checks
};
State state;

bool is_reported(BorrowedRef modes, const char* condition) {
  PyObject* mode = PyDict_GetItemString(modes.get(), condition);
  NUMLIFT_CHECK(mode != nullptr && PyUnicode_Check(mode), "np.errstate has no {}", condition);
  return PyUnicode_CompareWithASCIIString(mode, "ignore") != 0;
}

ErrState ask_numpy() {
  Ref modes = checked(PyObject_CallNoArgs(state.get_dict));
  ErrState result;
  result.fp_checks = kFpNone;
  if (is_reported(modes, "divide")) result.fp_checks |= kFpDivide;
  if (is_reported(modes, "over")) result.fp_checks |= kFpOver;
  if (is_reported(modes, "invalid")) result.fp_checks |= kFpInvalid;
  result.underflow = is_reported(modes, "under");
  return result;
}

BorrowedRef raising_capsule(uint8_t fp_checks) {
  PyObject*& capsule = state.raising[fp_checks & kFpAll];
  if (capsule == nullptr) {
    const auto mode = [&](FpChecks one) { return (fp_checks & one) != 0 ? "raise" : "ignore"; };
    Ref keywords =
        checked(Py_BuildValue("{s:s,s:s,s:s,s:s}", "divide", mode(kFpDivide), "over", mode(kFpOver),
                              "invalid", mode(kFpInvalid), "under", "ignore"));
    Ref no_arguments = checked(PyTuple_New(0));
    capsule =
        checked(PyObject_Call(state.make_capsule, no_arguments.get(), keywords.get())).release();
  }
  return capsule;
}

}  // namespace

void initialize_errstate() {
  Ref umath = checked(PyImport_ImportModule("numpy._core.umath"));
  state.variable = checked(PyObject_GetAttrString(umath.get(), "_extobj_contextvar")).release();
  state.get_dict = checked(PyObject_GetAttrString(umath.get(), "_get_extobj_dict")).release();
  state.make_capsule = checked(PyObject_GetAttrString(umath.get(), "_make_extobj")).release();
}

const ErrState* known_errstate() noexcept {
  PyObject* capsule = nullptr;
  if (PyContextVar_Get(state.variable, nullptr, &capsule) < 0) {
    PyErr_Clear();
    return nullptr;
  }
  Py_XDECREF(capsule);  // the context keeps it
  for (const State::Known& known : state.known) {
    if (known.capsule == capsule) return capsule == nullptr ? nullptr : &known.state;
  }
  return nullptr;
}

ErrState current_errstate() {
  PyObject* capsule = nullptr;
  check_status(PyContextVar_Get(state.variable, nullptr, &capsule));
  const Ref owner = Ref::steal(capsule);
  for (const State::Known& known : state.known) {
    if (known.capsule == capsule) return known.state;
  }
  const ErrState found = ask_numpy();
  State::Known& place = state.known[state.next];
  state.next = (state.next + 1) % state.known.size();
  place.state = found;
  Ref dropped = Ref::steal(place.capsule);
  place.capsule = Ref(owner).release();
  return found;
}

RaisingErrState::RaisingErrState(uint8_t fp_checks)
    : token_(checked(PyContextVar_Set(state.variable, raising_capsule(fp_checks)))) {}

RaisingErrState::~RaisingErrState() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // an error of the call stays set
  if (PyContextVar_Reset(state.variable, token_.get()) < 0) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace numlift::numpy_shim
