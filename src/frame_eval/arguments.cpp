#include "arguments.h"

#include <algorithm>

namespace numlift::frame_eval {

Signature::Signature(PyCodeObject* code)
    : positional(code->co_argcount),
      positional_only(code->co_posonlyargcount),
      keyword_only(code->co_kwonlyargcount),
      var_positional((code->co_flags & CO_VARARGS) != 0),
      var_keyword((code->co_flags & CO_VARKEYWORDS) != 0) {}

bool BoundArguments::bind(const Signature& signature, PyFunctionObject* function, PyObject* self,
                          PyObject* const* args, Py_ssize_t nargs, PyObject* keyword_names) {
  const Py_ssize_t total = nargs + (self != nullptr);
  const Py_ssize_t named = signature.positional + signature.keyword_only;
  if (signature.slots() > kMost) return false;
  if (total > signature.positional && !signature.var_positional) return false;
  std::fill(values_, values_ + signature.slots(), nullptr);
  const auto argument = [&](Py_ssize_t i) {
    if (self == nullptr) return args[i];
    return i == 0 ? self : args[i - 1];
  };
  const Py_ssize_t taken = std::min(total, signature.positional);
  for (Py_ssize_t i = 0; i < taken; ++i) values_[i] = argument(i);

  if (signature.var_positional) {
    var_positional_ = Ref::steal(PyTuple_New(total - taken));
    if (!var_positional_) {
      PyErr_Clear();
      return false;
    }
    for (Py_ssize_t i = taken; i < total; ++i) {
      PyTuple_SET_ITEM(var_positional_.get(), i - taken, Py_NewRef(argument(i)));
    }
    values_[named] = var_positional_.get();
  }
  if (signature.var_keyword) {
    var_keyword_ = Ref::steal(PyDict_New());
    if (!var_keyword_) {
      PyErr_Clear();
      return false;
    }
    values_[named + signature.var_positional] = var_keyword_.get();
  }

  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  if (keywords != 0 || taken < named) {
    Ref names =
        Ref::steal(PyCode_GetVarnames(reinterpret_cast<PyCodeObject*>(function->func_code)));
    if (!names) {
      PyErr_Clear();
      return false;
    }
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      PyObject* name = PyTuple_GET_ITEM(keyword_names, k);
      PyObject* value = args[nargs + k];
      if (!PyUnicode_CheckExact(name)) return false;
      Py_ssize_t place = -1;
      for (Py_ssize_t i = signature.positional_only; i < named && place < 0; ++i) {
        PyObject* parameter = PyTuple_GET_ITEM(names.get(), i);
        if (parameter == name || PyUnicode_Compare(parameter, name) == 0) place = i;
      }
      if (place >= 0) {
        if (values_[place] != nullptr) return false;  // given twice
        values_[place] = value;
      } else if (!signature.var_keyword || PyDict_SetItem(var_keyword_.get(), name, value) < 0) {
        PyErr_Clear();
        return false;
      }
    }
    defaults_ = Ref::create(function->func_defaults);
    keyword_defaults_ = Ref::create(function->func_kwdefaults);
    const Py_ssize_t default_count = defaults_ ? PyTuple_GET_SIZE(defaults_.get()) : 0;
    for (Py_ssize_t i = taken; i < signature.positional; ++i) {
      if (values_[i] != nullptr) continue;
      const Py_ssize_t k = i - (signature.positional - default_count);
      if (k < 0) return false;
      values_[i] = PyTuple_GET_ITEM(defaults_.get(), k);
    }
    for (Py_ssize_t i = signature.positional; i < named; ++i) {
      if (values_[i] != nullptr) continue;
      if (!keyword_defaults_) return false;
      values_[i] =
          PyDict_GetItemWithError(keyword_defaults_.get(), PyTuple_GET_ITEM(names.get(), i));
      if (values_[i] == nullptr) {
        PyErr_Clear();
        return false;
      }
    }
  }
  return true;
}

}  // namespace numlift::frame_eval
