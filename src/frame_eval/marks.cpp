#include "numlift/frame_eval/marks.h"

#include <unordered_map>
#include <utility>

#include "numlift/py/py_error.h"

namespace numlift::frame_eval {
namespace {

constexpr std::pair<const char*, Mark> kNames[] = {{"graph_break", Mark::kGraphBreak},
                                                   {"is_compiling", Mark::kIsCompiling},
                                                   {"outside_only", Mark::kOutsideOnly},
                                                   {"make_nonstrict", Mark::kMakeNonstrict},
                                                   {"make_allowed", Mark::kMakeAllowed},
                                                   {"disabled", Mark::kDisabled},
                                                   {"disallowed", Mark::kDisallowed},
                                                   {"allowed", Mark::kAllowed},
                                                   {"nonstrict", Mark::kNonstrict},
                                                   {"custom_op", Mark::kCustomOp},
                                                   {"constant_result", Mark::kConstantResult},
                                                   {"ignored", Mark::kIgnored},
                                                   {"stood_for", Mark::kStoodFor}};

// An object by identity: a weak reference where the object allows one, so that a key whose object
// has died is known to be stale, even when another object has its address.
class ObjectKey {
 public:
  ObjectKey() = default;
  explicit ObjectKey(BorrowedRef object) {
    if (!object) return;
    kept_ = Ref::steal(PyWeakref_NewRef(object.get(), nullptr));
    is_weak_ = static_cast<bool>(kept_);
    if (!is_weak_) {
      PyErr_Clear();
      kept_ = Ref::create(object);
    }
  }
  bool is(BorrowedRef object) const { return now().get() == object.get(); }
  bool is_stale() const { return is_weak_ && now().get() == nullptr; }

 private:
  Ref now() const {
    if (!is_weak_) return kept_;
    Ref object = Ref::steal(PyObject_CallNoArgs(kept_.get()));
    if (!object) PyErr_Clear();
    return object.get() == Py_None ? Ref() : object;
  }
  Ref kept_;
  bool is_weak_ = false;
};

struct Row {
  ObjectKey function, self;
  MarkEntry entry;
};

using Address = std::pair<PyObject*, PyObject*>;
struct AddressHash {
  size_t operator()(const Address& address) const {
    return std::hash<PyObject*>()(address.first) * 31 + std::hash<PyObject*>()(address.second);
  }
};

struct AxisRow {
  ObjectKey array;
  AxisMarks marks;
};

// Kept for the process: objects may die after it has ended.
struct Tables {
  std::unordered_map<Address, Row, AddressHash> marks;
  std::unordered_map<PyObject*, AxisRow> axes;
  std::unordered_map<PyObject*, Ref> codes;  // see is_code_of_marked()
  size_t sweep_at = 64;
};
Tables& tables() {
  static Tables* const all = new Tables;
  return *all;
}

PyObject* escape_hatch_error = nullptr;

void sweep() {
  Tables& all = tables();
  if (all.marks.size() + all.axes.size() < all.sweep_at) return;
  std::erase_if(all.marks, [](const auto& row) {
    return row.second.function.is_stale() || row.second.self.is_stale();
  });
  std::erase_if(all.axes, [](const auto& row) { return row.second.array.is_stale(); });
  all.sweep_at = 64 + 2 * (all.marks.size() + all.axes.size());
}

Address address_of(BorrowedRef callable) {
  if (!PyMethod_Check(callable.get())) return {callable.get(), nullptr};
  return {PyMethod_GET_FUNCTION(callable.get()), PyMethod_GET_SELF(callable.get())};
}

}  // namespace

Mark mark_named(const std::string& name) {
  for (const auto& [text, mark] : kNames) {
    if (name == text) return mark;
  }
  PyErr_Format(PyExc_ValueError, "there is no mark \"%s\"", name.c_str());
  throw PyError();
}

void set_mark(BorrowedRef callable, MarkEntry entry) {
  sweep();
  const Address address = address_of(callable);
  const bool was_there_before = entry.mark == Mark::kAllowed || entry.mark == Mark::kDisallowed ||
                                entry.mark == Mark::kIgnored;
  if (was_there_before && PyFunction_Check(address.first)) {
    PyObject* code = PyFunction_GET_CODE(address.first);
    tables().codes.try_emplace(code, Ref::create(code));
  }
  tables().marks[address] =
      Row{ObjectKey(address.first), ObjectKey(address.second), std::move(entry)};
}

bool clear_mark(BorrowedRef callable) {
  const Address address = address_of(callable);
  const bool was_there = find_mark(address.first, address.second) != nullptr;
  tables().marks.erase(address);
  return was_there;
}

bool is_code_of_marked(BorrowedRef code) { return tables().codes.count(code.get()) != 0; }

const MarkEntry* find_mark(BorrowedRef function, BorrowedRef self) {
  auto& marks = tables().marks;
  const auto found = marks.find({function.get(), self.get()});
  if (found == marks.end()) return nullptr;
  const Row& row = found->second;
  return row.function.is(function) && row.self.is(self) ? &row.entry : nullptr;
}

void mark_axes(BorrowedRef array, AxisMarks marks) {
  sweep();
  tables().axes[array.get()] = {ObjectKey(array), marks};
}

AxisMarks axis_marks(BorrowedRef array) {
  const auto& axes = tables().axes;
  if (axes.empty()) return {};
  const auto found = axes.find(array.get());
  return found != axes.end() && found->second.array.is(array) ? found->second.marks : AxisMarks{};
}

void set_escape_hatch_error(BorrowedRef type) { escape_hatch_error = Ref::create(type).release(); }

void raise_escape_hatch_error(const std::string& text) {
  PyErr_SetString(escape_hatch_error, text.c_str());
  throw PyError();
}

bool must_reach_user() {
  return !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(escape_hatch_error);
}

}  // namespace numlift::frame_eval
