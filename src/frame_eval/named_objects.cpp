#include "named_objects.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "numlift/py/py_error.h"

namespace numlift::frame_eval {
namespace {

// Nobody else has it.
BorrowedRef gone_object() {
  static PyObject* const object =
      checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  return object;
}

bool is_made_in_call(PyObject* qualified_name) {
  const char* name = PyUnicode_AsUTF8(qualified_name);
  if (name == nullptr) PyErr_Clear();
  return name != nullptr && std::string_view(name).find("<locals>") != std::string_view::npos;
}

bool may_be_short_lived(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) || PyModule_Check(object)) return false;
  if (PyMethod_Check(object)) return true;
  if (PyFunction_Check(object)) {
    return is_made_in_call(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  }
  if (!PyType_Check(object)) return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
  return PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE) &&
         is_made_in_call(reinterpret_cast<PyHeapTypeObject*>(object)->ht_qualname);
}

// What may hold objects of the user's. The rest is part of what a guard says in words.
bool holds_others(PyObject* object) {
  return PyObject_IS_GC(object) != 0 && !PyDict_Check(object) && !PyModule_Check(object) &&
         !PyType_Check(object);
}

}  // namespace

// Called before the object's memory goes, with no reference to it left.
PyObject* NamedObjects::note_gone(PyObject* self, PyObject* watch) {
  auto* own = static_cast<NamedObjects*>(PyCapsule_GetPointer(self, nullptr));
  own->is_dead_ = true;
  for (Named& one : own->named_) {
    if (one.watch.get() != watch) continue;
    one.object = nullptr;
    for (Ref* ref : one.refs) {
      (void)ref->release();
      *ref = Ref::create(gone_object());
    }
  }
  std::vector<Ref> dropped;
  for (Ref* ref : std::exchange(own->others_, {})) {
    dropped.push_back(std::exchange(*ref, Ref::create(gone_object())));
  }
  return Py_NewRef(Py_None);
}

void NamedObjects::borrow(const std::vector<Ref*>& refs) {
  static PyMethodDef method{"note_gone", note_gone, METH_O, nullptr};
  std::map<PyObject*, std::vector<Ref*>> by_object;
  for (Ref* ref : refs) {
    if (!*ref) continue;
    if (may_be_short_lived(ref->get())) {
      by_object[ref->get()].push_back(ref);
    } else if (holds_others(ref->get())) {
      others_.push_back(ref);
    }
  }
  Ref call_back;
  (void)gone_object();  // so that making it cannot fail later
  for (auto& [object, own] : by_object) {
    if (Py_REFCNT(object) <= static_cast<Py_ssize_t>(own.size())) {
      others_.insert(others_.end(), own.begin(), own.end());
      continue;
    }
    if (!call_back) {
      const Ref self = checked(PyCapsule_New(this, nullptr, nullptr));
      call_back = checked(PyCFunction_New(&method, self.get()));
    }
    named_.push_back({object, checked(PyWeakref_NewRef(object, call_back.get())), std::move(own)});
    for (size_t i = 0; i < named_.back().refs.size(); ++i) Py_DECREF(object);
  }
}

bool NamedObjects::is_lent(PyObject* object) const {
  return std::any_of(named_.begin(), named_.end(),
                     [&](const Named& one) { return one.object == object; });
}

void NamedObjects::give_back() {
  for (Named& one : named_) {
    for (size_t i = 0; one.object != nullptr && i < one.refs.size(); ++i) Py_INCREF(one.object);
    one.watch = Ref();
  }
  named_.clear();
  others_.clear();
}

NamedObjects::Held::Held(const NamedObjects& named) {
  for (const Named& one : named.named_) {
    if (one.object != nullptr) objects_.push_back(Py_NewRef(one.object));
  }
}

NamedObjects::Held::~Held() {
  for (PyObject* object : objects_) Py_DECREF(object);
}

}  // namespace numlift::frame_eval
