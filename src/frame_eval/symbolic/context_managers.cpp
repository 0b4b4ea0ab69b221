#include "symbolic/context_managers.h"

#include "numlift/py/py_error.h"
#include "symbolic/attributes.h"
#include "symbolic/error_region_value.h"
#include "symbolic/errstate.h"
#include "symbolic/library_objects.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

constexpr const char* kNames[] = {"__enter__", "__exit__", "__aenter__", "__aexit__"};

// Managers that the interpreter carries out itself; null: another one.
Sym own_method(Interpreter& interpreter, const Sym& manager, ContextMethod method) {
  const bool is_enter = method == ContextMethod::kEnter;
  if (!is_enter && method != ContextMethod::kExit) return nullptr;
  if (auto region = std::dynamic_pointer_cast<ErrorRegionValue>(manager)) {
    if (is_enter) return std::make_shared<ErrorRegionEnter>(region);
    return std::make_shared<ErrorRegionExit>(interpreter, region);
  }
  if (auto state = std::dynamic_pointer_cast<ErrstateValue>(manager)) {
    if (is_enter) return std::make_shared<ErrstateEnter>(state);
    return std::make_shared<ErrstateExit>(state);
  }
  return nullptr;
}

}  // namespace

Sym context_method(Interpreter& interpreter, const Sym& manager, ContextMethod method) {
  if (Sym own = own_method(interpreter, manager, method)) return own;
  const auto unsupported = [&] {
    throw_break("with_statement", fmt::format("with on a {}", type_name(manager)));
  };
  const Ref name = checked(PyUnicode_InternFromString(kNames[static_cast<int>(method)]));
  if (as_library_object(manager)) return library_attribute(interpreter, manager, name);
  if (manager->kind != SymKind::kObject) unsupported();
  const Sym raw = type_attribute(interpreter, manager, name);
  // What a class without it raises is left to CPython, as is everything written in C.
  const bool is_function =
      raw && (raw->kind == SymKind::kFunction ||
              (raw->kind == SymKind::kObject && PyFunction_Check(object_of(raw).get())));
  if (!is_function) {
    unsupported();
  }
  return bind_attribute(interpreter, raw, manager,
                        interpreter.object(type_of(interpreter, manager)));
}

}  // namespace numlift::frame_eval
