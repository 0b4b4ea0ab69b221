// Names, addresses and calls of elementary functions.
#include "vector_math.h"

#include <dlfcn.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lanes.h"
#include "numlift/support/check.h"
#include "target.h"

namespace numlift::codegen::cpu {

namespace {

// op, libm's name, operands, whether libmvec's float64 and float32 versions are good enough
#define NUMLIFT_MATH_FUNCTIONS(X)  \
  X(Exp, exp, 1, true, true)       \
  X(Exp2, exp2, 1, true, true)     \
  X(Expm1, expm1, 1, true, true)   \
  X(Log, log, 1, true, true)       \
  X(Log2, log2, 1, true, true)     \
  X(Log10, log10, 1, true, true)   \
  X(Log1p, log1p, 1, true, true)   \
  X(Sin, sin, 1, true, true)       \
  X(Cos, cos, 1, true, true)       \
  X(Tan, tan, 1, true, true)       \
  X(Arcsin, asin, 1, true, true)   \
  X(Arccos, acos, 1, true, true)   \
  X(Arctan, atan, 1, true, true)   \
  X(Sinh, sinh, 1, true, true)     \
  X(Cosh, cosh, 1, true, true)     \
  X(Tanh, tanh, 1, true, true)     \
  X(Arcsinh, asinh, 1, true, true) \
  X(Arccosh, acosh, 1, true, true) \
  X(Arctanh, atanh, 1, true, true) \
  X(Cbrt, cbrt, 1, true, true)     \
  X(Arctan2, atan2, 2, true, true) \
  X(Hypot, hypot, 2, true, true)   \
  X(Power, pow, 2, true, true)     \
  X(Fmod, fmod, 2, false, false)

struct MathFunction {
  Op op;
  std::string_view name;
  int arity;
  bool vector_f64, vector_f32;
  void* libm_f64;
  void* libm_f32;
};

template <class T>
void* address1(T (*function)(T)) {
  return reinterpret_cast<void*>(function);
}
template <class T>
void* address2(T (*function)(T, T)) {
  return reinterpret_cast<void*>(function);
}

const MathFunction kFunctions[] = {
#define NUMLIFT_MATH(op, name, arity, v64, v32) \
  {Op::k##op,                                   \
   #name,                                       \
   arity,                                       \
   v64,                                         \
   v32,                                         \
   address##arity<double>(::name),              \
   address##arity<float>(::name##f)},
    NUMLIFT_MATH_FUNCTIONS(NUMLIFT_MATH)
#undef NUMLIFT_MATH
};

const MathFunction* find_function(std::string_view name) {
  for (const MathFunction& function : kFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

// "_ZGVeN8v_sin": the vector function ABI's name for `lanes` lanes in registers of `bytes`.
std::string vector_name(const MathFunction& function, bool f64, unsigned bytes) {
  const char isa = bytes == 64 ? 'e' : (bytes == 32 ? 'd' : 'b');
  std::string name = "_ZGV";
  name += isa;
  name += 'N';
  name += std::to_string(bytes / (f64 ? 8 : 4));
  name += function.arity == 2 ? "vv_" : "v_";
  name += function.name;
  if (!f64) name += 'f';
  return name;
}

using AddressTable = std::map<std::string, void*, std::less<>>;

const AddressTable& vector_functions() {
  static const AddressTable* table = [] {
    auto* found = new AddressTable();
    void* library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return found;
    for (const MathFunction& function : kFunctions)
      for (bool f64 : {true, false})
        for (unsigned bytes : {16u, 32u, 64u}) {
          if (bytes > host_target().vector_bytes ||
              !(f64 ? function.vector_f64 : function.vector_f32))
            continue;
          const std::string name = vector_name(function, f64, bytes);
          if (void* address = dlsym(library, name.c_str())) found->emplace(name, address);
        }
    return found;
  }();
  return *table;
}

llvm::Function* declare(llvm::Module* module, const std::string& name, llvm::Type* result,
                        llvm::ArrayRef<llvm::Type*> parameters) {
  if (llvm::Function* known = module->getFunction(name)) return known;
  auto* type = llvm::FunctionType::get(result, parameters, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  return function;
}

// The named libm function: a pure function of its operands (errno is nobody's business here).
llvm::Function* libm_function(llvm::Module* module, const MathFunction& function,
                              llvm::Type* type) {
  std::string name = "libm_" + std::string(function.name);
  if (type->isFloatTy()) name += 'f';
  llvm::SmallVector<llvm::Type*, 2> parameters(static_cast<size_t>(function.arity), type);
  llvm::Function* declared = declare(module, name, type, parameters);
  declared->setDoesNotAccessMemory();
  declared->addFnAttr(llvm::Attribute::WillReturn);
  return declared;
}

// The part [first, first + count) of a vector.
llvm::Value* slice(llvm::IRBuilder<>& builder, llvm::Value* vector, unsigned first,
                   unsigned count) {
  if (first == 0 && count == lane_count(vector->getType())) return vector;
  llvm::SmallVector<int, 64> mask;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned lane = first + i;
    mask.push_back(lane < lane_count(vector->getType()) ? static_cast<int>(lane)
                                                        : 0);  // fills up with lane 0
  }
  return builder.CreateShuffleVector(vector, mask);
}

llvm::Value* concat(llvm::IRBuilder<>& builder, llvm::SmallVector<llvm::Value*, 8> parts,
                    unsigned lanes) {
  while (parts.size() > 1) {
    llvm::SmallVector<llvm::Value*, 8> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      llvm::SmallVector<int, 64> mask;
      for (unsigned lane = 0; lane < 2 * lane_count(parts[i]->getType()); ++lane)
        mask.push_back(static_cast<int>(lane));
      joined.push_back(builder.CreateShuffleVector(parts[i], parts[i + 1], mask));
    }
    parts = joined;
  }
  return slice(builder, parts[0], 0, lanes);
}

}  // namespace

std::string_view math_function_name(Op op) {
  for (const MathFunction& function : kFunctions)
    if (function.op == op) return function.name;
  return "";
}

llvm::Value* emit_libm_call(llvm::IRBuilder<>& builder, std::string_view name,
                            std::span<llvm::Value* const> operands) {
  const MathFunction* function = find_function(name);
  NUMLIFT_CHECK(function, "{}", name);
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  llvm::Type* type = operands[0]->getType();
  llvm::Type* element = type->getScalarType();
  llvm::Function* callee = libm_function(module, *function, element);
  const llvm::ArrayRef<llvm::Value*> values(operands.data(), operands.size());
  if (!type->isVectorTy()) return builder.CreateCall(callee, values);

  llvm::SmallVector<llvm::Value*, 4> arguments{callee};
  llvm::SmallVector<llvm::Type*, 4> types{builder.getPtrTy()};
  for (llvm::Value* operand : operands) {
    llvm::Value* slot = entry_alloca(builder, type);
    builder.CreateStore(operand, slot);
    arguments.push_back(slot);
    types.push_back(builder.getPtrTy());
  }
  arguments.push_back(builder.getInt64(lane_count(operands[0]->getType())));
  types.push_back(builder.getInt64Ty());
  const std::string helper =
      "numlift_map" + std::to_string(function->arity) + (element->isDoubleTy() ? "_f64" : "_f32");
  builder.CreateCall(declare(module, helper, builder.getVoidTy(), types), arguments);
  return builder.CreateLoad(type, arguments[1]);
}

llvm::Value* emit_math_call(llvm::IRBuilder<>& builder, std::string_view name,
                            std::span<llvm::Value* const> operands) {
  const MathFunction* function = find_function(name);
  NUMLIFT_CHECK(function, "{}", name);
  llvm::Type* type = operands[0]->getType();
  if (!type->isVectorTy()) return emit_libm_call(builder, name, operands);

  // The narrowest registers that hold all lanes, else several of the widest.
  llvm::Type* element = type->getScalarType();
  const bool f64 = element->isDoubleTy();
  const unsigned lanes = lane_count(operands[0]->getType());
  unsigned bytes = 16;
  while (bytes < host_target().vector_bytes && bytes / (f64 ? 8 : 4) < lanes) bytes *= 2;
  const std::string symbol = vector_name(*function, f64, bytes);
  if (!vector_functions().contains(symbol)) return emit_libm_call(builder, name, operands);

  const unsigned width = bytes / (f64 ? 8 : 4);
  llvm::Type* register_type = llvm::FixedVectorType::get(element, width);
  llvm::SmallVector<llvm::Type*, 2> parameters(operands.size(), register_type);
  llvm::Function* callee =
      declare(builder.GetInsertBlock()->getModule(), symbol, register_type, parameters);
  callee->setDoesNotAccessMemory();
  callee->addFnAttr(llvm::Attribute::WillReturn);
  llvm::SmallVector<llvm::Value*, 8> parts;
  for (unsigned first = 0; first < lanes; first += width) {
    llvm::SmallVector<llvm::Value*, 2> arguments;
    for (llvm::Value* operand : operands)
      arguments.push_back(slice(builder, operand, first, width));
    parts.push_back(builder.CreateCall(callee, arguments));
  }
  return concat(builder, parts, lanes);
}

std::string_view complex_function_name(Op op) {
  switch (op) {
#define NUMLIFT_NAME(op, name) \
  case Op::k##op:              \
    return #name;
    NUMLIFT_NAME(Exp, exp)
    NUMLIFT_NAME(Log, log)
    NUMLIFT_NAME(Sqrt, sqrt)
    NUMLIFT_NAME(Sin, sin)
    NUMLIFT_NAME(Cos, cos)
    NUMLIFT_NAME(Tan, tan)
    NUMLIFT_NAME(Sinh, sinh)
    NUMLIFT_NAME(Cosh, cosh)
    NUMLIFT_NAME(Tanh, tanh)
#undef NUMLIFT_NAME
    default:
      return "";
  }
}

std::pair<llvm::Value*, llvm::Value*> emit_complex_call(llvm::IRBuilder<>& builder,
                                                        std::string_view name, llvm::Value* re,
                                                        llvm::Value* im) {
  llvm::Module* module = builder.GetInsertBlock()->getModule();
  llvm::Type* type = re->getType();
  llvm::Value* re_slot = entry_alloca(builder, type);
  llvm::Value* im_slot = entry_alloca(builder, type);
  builder.CreateStore(re, re_slot);
  builder.CreateStore(im, im_slot);
  const std::string helper =
      (type->getScalarType()->isDoubleTy() ? "numlift_c128_" : "numlift_c64_") + std::string(name);
  llvm::Type* pointer = builder.getPtrTy();
  builder.CreateCall(
      declare(module, helper, builder.getVoidTy(), {pointer, pointer, builder.getInt64Ty()}),
      {re_slot, im_slot, builder.getInt64(lane_count(re->getType()))});
  return {builder.CreateLoad(type, re_slot), builder.CreateLoad(type, im_slot)};
}

void append_math_symbols(std::vector<std::pair<std::string, void*>>* table) {
  for (const MathFunction& function : kFunctions) {
    table->emplace_back("libm_" + std::string(function.name), function.libm_f64);
    table->emplace_back("libm_" + std::string(function.name) + "f", function.libm_f32);
  }
  // Names that LLVM itself writes for frem and the like.
  table->emplace_back("fmod", address2<double>(::fmod));
  table->emplace_back("fmodf", address2<float>(::fmodf));
  for (const auto& [name, address] : vector_functions()) table->emplace_back(name, address);
}

}  // namespace numlift::codegen::cpu
