// Promotion by asking NumPy. Answers are remembered per question for the life of the process; the
// ufuncs asked about are kept alive by the memory (they are module level objects in practice).
#include "numlift/numpy_shim/promotion.h"

#include <map>
#include <string>
#include <tuple>

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

// Operands and dtype= in one string: the key under which an answer is remembered.
std::string question_text(std::span<const OperandType> operands, std::optional<DType> dtype) {
  std::string key;
  for (const OperandType& operand : operands) {
    key += static_cast<char>('A' + static_cast<int>(operand.dtype));
    key += operand.weak ? 'w' : '.';
  }
  if (dtype) {
    key += '>';
    key += static_cast<char>('A' + static_cast<int>(*dtype));
  }
  return key;
}

PyTypeObject* weak_type(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kBool:
      return &PyBool_Type;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return &PyLong_Type;
    case DTypeKind::kFloat:
      return &PyFloat_Type;
    case DTypeKind::kComplex:
      return &PyComplex_Type;
  }
  NUMLIFT_UNREACHABLE();
}

// The memories are leaked on purpose: their keys must not be dropped after the interpreter is gone.
using LoopMemory = std::map<std::pair<PyObject*, std::string>, std::optional<LoopTypes>>;
LoopMemory& loop_memory() {
  static auto* memory = new LoopMemory;
  return *memory;
}
using TypeMemory = std::map<std::string, std::optional<DType>>;
TypeMemory& type_memory() {
  static auto* memory = new TypeMemory;
  return *memory;
}

std::optional<LoopTypes> ask_ufunc(BorrowedRef ufunc, std::span<const OperandType> operands,
                                   std::optional<DType> dtype) {
  const auto* info = reinterpret_cast<PyUFuncObject*>(ufunc.get());
  if (static_cast<size_t>(info->nin) != operands.size()) return std::nullopt;
  Ref types = checked(PyTuple_New(info->nargs));
  Ref signature = checked(PyTuple_New(info->nargs));
  for (Py_ssize_t i = 0; i < info->nargs; ++i) {
    Ref type = Ref::create(Py_None);
    Ref fixed = Ref::create(Py_None);
    if (i < info->nin) {
      const OperandType& operand = operands[static_cast<size_t>(i)];
      type = Ref::create(operand.weak
                             ? BorrowedRef(reinterpret_cast<PyObject*>(weak_type(operand.dtype)))
                             : descr_of(operand.dtype));
    } else if (dtype) {
      fixed = Ref::create(descr_of(*dtype));
    }
    PyTuple_SET_ITEM(types.get(), i, type.release());
    PyTuple_SET_ITEM(signature.get(), i, fixed.release());
  }
  Ref method = checked(PyObject_GetAttrString(ufunc, "resolve_dtypes"));
  Ref arguments = checked(PyTuple_Pack(1, types.get()));
  Ref keywords = checked(PyDict_New());
  if (dtype) check_status(PyDict_SetItemString(keywords.get(), "signature", signature.get()));
  Ref resolved = Ref::steal(PyObject_Call(method.get(), arguments.get(), keywords.get()));
  if (!resolved) {
    PyErr_Clear();
    return std::nullopt;
  }
  LoopTypes loop;
  for (Py_ssize_t i = 0; i < info->nargs; ++i) {
    PyObject* descr = PyTuple_GET_ITEM(resolved.get(), i);
    if (!PyArray_DescrCheck(descr)) return std::nullopt;
    const std::optional<DType> one = dtype_of_descr(descr);
    if (!one) return std::nullopt;
    (i < info->nin ? loop.inputs : loop.outputs).push_back(*one);
  }
  return loop;
}

}  // namespace

std::optional<LoopTypes> resolve_ufunc(BorrowedRef ufunc, std::span<const OperandType> operands,
                                       std::optional<DType> dtype) {
  if (!PyObject_TypeCheck(ufunc.get(), &PyUFunc_Type)) return std::nullopt;
  auto key = std::make_pair(ufunc.get(), question_text(operands, dtype));
  if (auto known = loop_memory().find(key); known != loop_memory().end()) return known->second;
  std::optional<LoopTypes> answer = ask_ufunc(ufunc, operands, dtype);
  Py_INCREF(ufunc.get());  // the key must not be reused by another ufunc
  return loop_memory().emplace(std::move(key), std::move(answer)).first->second;
}

std::optional<DType> result_type(std::span<const OperandType> operands) {
  const std::string key = question_text(operands, std::nullopt);
  if (auto known = type_memory().find(key); known != type_memory().end()) return known->second;
  Ref numpy = checked(PyImport_ImportModule("numpy"));
  Ref function = checked(PyObject_GetAttrString(numpy.get(), "result_type"));
  Ref arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(operands.size())));
  for (size_t i = 0; i < operands.size(); ++i) {
    // A weak operand is given as a value (the zero of its type): as a class it would not be weak.
    Ref operand = operands[i].weak ? checked(PyObject_CallNoArgs(
                                         reinterpret_cast<PyObject*>(weak_type(operands[i].dtype))))
                                   : Ref::create(descr_of(operands[i].dtype));
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), operand.release());
  }
  Ref descr = Ref::steal(PyObject_Call(function.get(), arguments.get(), nullptr));
  if (!descr) PyErr_Clear();
  const std::optional<DType> answer = descr ? dtype_of_descr(descr) : std::nullopt;
  return type_memory().emplace(key, answer).first->second;
}

bool can_cast(DType from, DType to, const char* casting) {
  NPY_CASTING rule = NPY_SAFE_CASTING;
  Ref name = checked(PyUnicode_FromString(casting));
  if (!PyArray_CastingConverter(name.get(), &rule)) throw PyError();
  return PyArray_CanCastTypeTo(reinterpret_cast<PyArray_Descr*>(descr_of(from).get()),
                               reinterpret_cast<PyArray_Descr*>(descr_of(to).get()), rule) != 0;
}

namespace {

// Without the core axes.
std::optional<NumpyLoopInfo> find_loop(const PyUFuncObject* info, const LoopTypes& types) {
  if (info->types == nullptr) return std::nullopt;
  if (static_cast<size_t>(info->nin) != types.inputs.size() ||
      static_cast<size_t>(info->nout) != types.outputs.size()) {
    return std::nullopt;
  }
  const auto number_at = [&](int i) {
    const DType dtype = i < info->nin ? types.inputs[static_cast<size_t>(i)]
                                      : types.outputs[static_cast<size_t>(i - info->nin)];
    return reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get())->type_num;
  };
  for (int loop = 0; loop < info->ntypes; ++loop) {
    const char* row = info->types + static_cast<ptrdiff_t>(loop) * info->nargs;
    bool same = true;
    for (int i = 0; i < info->nargs; ++i) same = same && row[i] == number_at(i);
    if (!same || info->functions == nullptr || info->functions[loop] == nullptr) continue;
    NumpyLoopInfo found;
    found.name = info->name == nullptr ? "?" : info->name;
    found.name += '.';
    for (DType dtype : types.inputs)
      found.name += reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get())->type;
    found.name += "->";
    for (DType dtype : types.outputs)
      found.name += reinterpret_cast<PyArray_Descr*>(descr_of(dtype).get())->type;
    static_assert(sizeof(npy_intp) == sizeof(int64_t));
    found.function = reinterpret_cast<void (*)(char**, const int64_t*, const int64_t*, void*)>(
        info->functions[loop]);
    found.data = info->data == nullptr
                     ? nullptr
                     : const_cast<void*>(static_cast<const void*>(info->data[loop]));
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NumpyLoopInfo> inner_loop(BorrowedRef ufunc, const LoopTypes& types) {
  if (!PyObject_TypeCheck(ufunc.get(), &PyUFunc_Type)) return std::nullopt;
  const auto* info = reinterpret_cast<PyUFuncObject*>(ufunc.get());
  return info->core_enabled != 0 ? std::nullopt : find_loop(info, types);
}

std::optional<NumpyLoopInfo> gufunc_loop(BorrowedRef ufunc, const LoopTypes& types,
                                         std::span<const int> ranks) {
  if (!PyObject_TypeCheck(ufunc.get(), &PyUFunc_Type)) return std::nullopt;
  const auto* info = reinterpret_cast<PyUFuncObject*>(ufunc.get());
  if (info->core_enabled == 0 || info->nout != 1) return std::nullopt;
  auto found = find_loop(info, types);
  if (!found) return std::nullopt;
  const auto can_be_absent = [&](int number) {
    return (info->core_dim_flags[number] & UFUNC_CORE_DIM_CAN_IGNORE) != 0;
  };
  std::vector<bool> absent(static_cast<size_t>(info->core_num_dim_ix), false);
  const auto core_axes = [&](int argument) {
    const int* numbers = info->core_dim_ixs + info->core_offsets[argument];
    return std::span(numbers, static_cast<size_t>(info->core_num_dims[argument]));
  };
  for (int argument = 0; argument < info->nin; ++argument) {
    if (ranks[static_cast<size_t>(argument)] == info->core_num_dims[argument]) continue;
    for (int number : core_axes(argument)) {
      if (can_be_absent(number)) absent[static_cast<size_t>(number)] = true;
    }
  }
  for (int argument = 0; argument < info->nargs; ++argument) {
    auto& axes = found->core.emplace_back();
    for (int number : core_axes(argument))
      axes.push_back({number, absent[static_cast<size_t>(number)]});
    if (argument < info->nin && present_axes(axes) != ranks[static_cast<size_t>(argument)])
      return std::nullopt;
  }
  return found;
}

}  // namespace numlift::numpy_shim
