#include "symbolic/identity_numbers.h"

#include "numlift/py/py_error.h"
#include "symbolic/dict_keys.h"
#include "symbolic/operators.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

std::optional<CallShape> IdentityNumber::shape() const {
  return CallShape{Ref::create(known_object("builtins", "id")), {owner}, {}, 0};
}

Ref IdentityNumber::type() const { return Ref::create(reinterpret_cast<PyObject*>(&PyLong_Type)); }

Sym identity_number(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("id", arguments);
  read.expect(1, 1);
  const Sym& value = read[0];
  switch (value->kind) {
    case SymKind::kSize:
    case SymKind::kScalar:
    case SymKind::kTuple:
    case SymKind::kMethod:
    case SymKind::kSlice:
      // Whether two of these are one object is CPython's to tell.
      throw_break("identity", "id() of a " + type_name(value));
    case SymKind::kObject: {
      BorrowedRef object = object_of(value);
      if (as<ObjectValue>(value).differs()) break;
      if (is_pure(object) && object.get() != Py_None && !PyType_Check(object.get()))
        throw_break("identity", "id() of a " + type_name(value));
      if (!is_lasting_key(object, value->source.get())) break;
      const auto real = real_object(interpreter, value, "its id() is asked for");
      if (real) return interpreter.tracer.constant(checked(PyLong_FromVoidPtr(real->get())));
      break;
    }
    default:
      break;
  }
  return std::make_shared<IdentityNumber>(value);
}

std::optional<bool> same_identity_number(Interpreter& interpreter, const Sym& a, const Sym& b) {
  const auto* one = dynamic_cast<const IdentityNumber*>(a.get());
  const auto* other = dynamic_cast<const IdentityNumber*>(b.get());
  if (one == nullptr || other == nullptr) return std::nullopt;
  return is_identical(interpreter, one->owner, other->owner);
}

}  // namespace numlift::frame_eval
