#include "symbolic/sorting.h"

#include "numlift/py/py_error.h"
#include "symbolic/calls.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

std::vector<Sym> sort_items(Interpreter& interpreter, const std::vector<Sym>& items,
                            const std::vector<std::pair<Ref, Sym>>& keywords) {
  Sym key_function;
  bool reverse = false;
  for (const auto& [name, value] : keywords) {
    const std::string text = utf8_text(name);
    if (text == "key") {
      if (!is_object(value, Py_None)) key_function = value;
    } else if (text == "reverse") {
      reverse = truth(interpreter, value);
    } else {
      throw_break("would_raise", "sorting with an unknown keyword");
    }
  }
  // Python itself sorts positions by the keys, which must be known: its order of NaN and of mixed
  // types (which raises) is then right by construction.
  Ref keys = checked(PyList_New(0));
  for (const Sym& item : items) {
    Sym key = key_function ? call_value(interpreter, key_function, {{item}, {}}) : item;
    auto real =
        interpreter.tracer.as_deep_constant(key, "sorted at " + interpreter.location_text());
    if (!real || !is_pure(*real)) {
      throw_break("data_dependent", "sorting by values of type " + type_name(key));
    }
    check_status(PyList_Append(keys.get(), real->get()));
  }
  Ref get_key = checked(PyObject_GetAttrString(keys.get(), "__getitem__"));
  Ref positions = checked(PyList_New(0));
  for (size_t i = 0; i < items.size(); ++i) {
    Ref position = checked(PyLong_FromSize_t(i));
    check_status(PyList_Append(positions.get(), position.get()));
  }
  Ref sort = checked(PyObject_GetAttrString(positions.get(), "sort"));
  Ref none = checked(PyTuple_New(0));
  Ref options = checked(
      Py_BuildValue("{s:O,s:O}", "key", get_key.get(), "reverse", reverse ? Py_True : Py_False));
  must(PyObject_Call(sort.get(), none.get(), options.get()));
  std::vector<Sym> result;
  for (size_t i = 0; i < items.size(); ++i) {
    result.push_back(
        items[PyLong_AsSize_t(PyList_GET_ITEM(positions.get(), static_cast<Py_ssize_t>(i)))]);
  }
  return result;
}

}  // namespace numlift::frame_eval
