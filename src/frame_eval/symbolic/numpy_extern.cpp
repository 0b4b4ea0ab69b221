// NumPy's own code inside the program: results of sizes that only the run tells, calls that change
// an array (done to a copy, whose elements are then stored), and questions that are answered now.
#include "symbolic/numpy_extern.h"

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

Sym call_extern_unknown(Tracer& tracer, const NumpyArguments& arguments) {
  if (arguments.get_unless_none("out")) {
    throw_break("numpy_argument", fmt::format("{} with out=", arguments.entry->path));
  }
  return tracer.extern_call(arguments.callable, arguments.positional, arguments.keywords,
                            arguments.entry->path, ExternDims::kUnknown);
}

// ---------------------------------------------------------------- changes

namespace {

// Python functions: changes done to a copy, which is returned; and an integer as the size of an
// array without elements (two more, since axes of size 1 ask for another program).
Ref helper(const char* name) {
  static PyObject* const functions = [] {
    Ref globals = checked(PyDict_New());
    check_status(PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()));
    static const char* const kSource = R"(
from numpy import empty

def place(index, length):
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise IndexError(index)
    return empty((index + 2, 0))

def set_item(array, key, value):
    array = array.copy()
    array[key] = value
    return array

def method(array, name, /, *args, **kwargs):
    array = array.copy()
    getattr(array, name)(*args, **kwargs)
    return array

def function(array, function, /, *args, **kwargs):
    array = array.copy()
    function(array, *args, **kwargs)
    return array
)";
    checked(PyRun_String(kSource, Py_file_input, globals.get(), globals.get()));
    return globals.release();
  }();
  return Ref::create(PyDict_GetItemString(functions, name));
}

// Above this many elements a copy of the array costs more than leaving the call to NumPy gains.
constexpr int64_t kMostCopied = 65536;

// target[...] = what `function` makes of a copy of it.
void store_changed(Tracer& tracer, const Sym& target, const char* function,
                   std::span<const Sym> args, Keywords kwargs, const std::string& name,
                   bool touches_all) {
  ArrayValue* array = as_array(target);
  if (array == nullptr)
    throw_break("numpy_argument", fmt::format("{} of something that is no array", name));
  if (!array->writeable) throw_break("would_raise", "assignment destination is read-only");
  const SizeExpr size = element_count(tracer, dims_of(tracer, *array));
  if (!touches_all && tracer.hint(size) > kMostCopied) {
    throw_break("numpy_argument", fmt::format("{} on a large array", name));
  }
  for (const Sym& value : args) {
    const DType dtype = as_array(value) ? as_array(value)->type.dtype : array->type.dtype;
    if (is_complex(dtype) && !is_complex(array->type.dtype)) {
      throw_break("would_raise", "complex numbers are assigned to a real array (a warning)");
    }
  }
  std::vector<Sym> all{target};
  all.insert(all.end(), args.begin(), args.end());
  const Sym changed = tracer.extern_call(helper(function), all, kwargs, name, ExternDims::kUnknown);
  if (changed->kind != SymKind::kArray) throw_break("numpy_argument", name);
  const NodeId node = static_cast<ArrayValue&>(*changed).storage->current;
  // Its sizes are the target's: the program checks it.
  tracer.graph().mutable_node(node).type.dims = dims_of(tracer, *array);
  tracer.store(*array, node);
}

}  // namespace

SizeExpr place_of_index(Tracer& tracer, const Sym& index, const SizeExpr& length) {
  const Sym args[] = {index, tracer.new_size(length)};
  const Sym place =
      tracer.extern_call(helper("place"), args, {}, "numpy.ndarray index", ExternDims::kUnknown);
  return static_cast<ArrayValue&>(*place).type.dims[0] - 2;
}

void set_item_by_numpy(Tracer& tracer, const Sym& array, const Sym& key, const Sym& value) {
  const Sym args[] = {key, value};
  store_changed(tracer, array, "set_item", args, {}, "numpy.ndarray.__setitem__", false);
}

// x.sort(), x.put(…), …
Sym call_changing_method(Tracer& tracer, const NumpyArguments& arguments) {
  const std::string name = arguments.entry->path.substr(arguments.entry->path.rfind('.') + 1);
  std::vector<Sym> args{tracer.constant(checked(PyUnicode_FromString(name.c_str())))};
  args.insert(args.end(), arguments.positional.begin() + 1, arguments.positional.end());
  store_changed(tracer, arguments.positional[0], "method", args, arguments.keywords,
                arguments.entry->path, name == "sort" || name == "partition");
  return tracer.constant(Ref::create(Py_None));
}

// np.put(x, …), np.add.at(x, …), …
Sym call_changing_function(Tracer& tracer, const NumpyArguments& arguments) {
  if (arguments.positional.empty())
    throw_break("numpy_argument", "the array to change is given by keyword");
  std::vector<Sym> args{tracer.constant(arguments.callable)};
  args.insert(args.end(), arguments.positional.begin() + 1, arguments.positional.end());
  store_changed(tracer, arguments.positional[0], "function", args, arguments.keywords,
                arguments.entry->path, false);
  return tracer.constant(Ref::create(Py_None));
}

Sym call_nan_to_num(Tracer& tracer, const NumpyArguments& arguments) {
  const Sym copy = arguments.get("copy");
  if (copy && constant_bool(tracer, copy, "nan_to_num") != true) {
    throw_break("numpy_argument", "nan_to_num in place");
  }
  return call_extern(tracer, arguments);
}

// ---------------------------------------------------------------- answers now

namespace {

// An object that gives the same answer to questions about dtypes.
Ref stand_in(Tracer& tracer, const Sym& value) {
  ScalarBits zero;
  if (const ArrayValue* array = as_array(value)) {
    zero.dtype = array->type.dtype;
    if (array->type.rank() == 0) return scalar_object(zero);
    npy_intp none = 0;
    Ref descr = Ref::create(numpy_shim::descr_of(zero.dtype));
    return checked(PyArray_Zeros(1, &none, reinterpret_cast<PyArray_Descr*>(descr.release()), 0));
  }
  if (value->kind == SymKind::kScalar) {
    const auto& scalar = static_cast<const ScalarValue&>(*value);
    zero.dtype = scalar.type.dtype;
    Ref number = scalar_object(zero);
    if (scalar.type.value_kind == ValueKind::kNumpyScalar) return number;
    return checked(PyObject_CallMethod(number.get(), "item", nullptr));
  }
  if (value->kind == SymKind::kSize) return checked(PyLong_FromLong(0));
  auto constant = tracer.as_deep_constant(value, "a question about dtypes is answered now");
  if (!constant) throw_break("unsupported_value", "a question about a dtype that is not known");
  return std::move(*constant);
}

}  // namespace

Sym call_fold(Tracer& tracer, const NumpyArguments& arguments) {
  Ref values = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.positional.size())));
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i),
                     stand_in(tracer, arguments.positional[i]).release());
  }
  Ref keywords = checked(PyDict_New());
  for (const auto& [name, value] : arguments.keywords) {
    check_status(PyDict_SetItem(keywords.get(), name.get(), stand_in(tracer, value).get()));
  }
  Ref result = Ref::steal(PyObject_Call(arguments.callable.get(), values.get(), keywords.get()));
  if (!result) {
    PyErr_Clear();
    throw_break("would_raise", fmt::format("{} raises", arguments.entry->path));
  }
  return tracer.constant(std::move(result));
}

// ---------------------------------------------------------------- index objects

namespace {

enum class IndexObject : uint8_t { kNone, kSlice, kIndexExpression, kJoin, kGrid };

IndexObject index_object_of(BorrowedRef object) {
  static PyObject* const known[] = {
      numpy_attribute("s_").release(),    numpy_attribute("index_exp").release(),
      numpy_attribute("r_").release(),    numpy_attribute("c_").release(),
      numpy_attribute("mgrid").release(), numpy_attribute("ogrid").release()};
  static constexpr IndexObject kKinds[] = {IndexObject::kSlice, IndexObject::kIndexExpression,
                                           IndexObject::kJoin,  IndexObject::kJoin,
                                           IndexObject::kGrid,  IndexObject::kGrid};
  for (size_t k = 0; k < std::size(known); ++k) {
    if (known[k] == object.get()) return kKinds[k];
  }
  return IndexObject::kNone;
}

}  // namespace

Sym numpy_index_object(Tracer& tracer, const Sym& value, const Sym& key) {
  if (value->kind != SymKind::kObject) return nullptr;
  const IndexObject kind = index_object_of(static_cast<const ObjectValue&>(*value).object);
  if (kind == IndexObject::kNone) return nullptr;
  const auto object = tracer.as_constant(value, "an index object of NumPy");
  if (!object) return nullptr;
  if (kind == IndexObject::kSlice) return key;
  if (kind == IndexObject::kIndexExpression) {
    return sequence_items(tracer, key) ? key : make_sequence(SymKind::kTuple, {key});
  }
  const Ref get = checked(PyObject_GetAttrString(object->get(), "__getitem__"));
  return tracer.extern_call(get, std::span(&key, 1), {}, "numpy index object",
                            ExternDims::kUnknown);
}

}  // namespace numlift::frame_eval
