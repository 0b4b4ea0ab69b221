// class statements inside the traced code.
//
// The body is traced on a namespace of its own. A real class with placeholders for what the trace
// has in there stands for the new one in all questions about types; its members are found in the
// trace, as members that the traced code sets in other classes are. CPython gets the class by a
// call of type(). Classes whose making runs other code (a metaclass, __init_subclass__,
// __set_name__) are left to CPython.
#pragma once

#include "symbolic/builtins.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct MadeClass : ObjectValue {
  explicit MadeClass(Ref stand_in) : ObjectValue(std::move(stand_in)) { is_new = true; }
  Sym name, bases;  // a constant text, a tuple
  std::shared_ptr<DictValue> names;
};
// Null: it is no class made in the frame.
MadeClass* as_made_class(const Sym& value);

// The first class from outside that a stand-in is derived from; null: it is no stand-in.
BorrowedRef outside_base(const Tracer& tracer, BorrowedRef cls);
// What type() itself has put into the stand-in, or into one that it is derived from: slots,
// __dict__, __hash__. Null: nothing of that name.
Ref own_of_stand_in(const Tracer& tracer, BorrowedRef cls, BorrowedRef name);

// __build_class__(body, name, *bases)
Sym build_class(Interpreter& interpreter, const CallArguments& arguments);
// cls.name = value
void set_made_class_attribute(Interpreter& interpreter, const Sym& cls, BorrowedRef name,
                              const Sym& value);

// A class for questions about types; null where it is not known.
std::optional<Ref> class_for_tests(Interpreter& interpreter, const Sym& value, const char* what);

// property, staticmethod, classmethod of functions made in the frame.
struct DescriptorValue : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a descriptor"); }
  std::optional<CallShape> shape() const override { return CallShape{cls, parts, {}, 0}; }
  Ref type() const override { return cls; }
  Ref cls;
  std::vector<Sym> parts;  // of a property: getter, setter, deleter; None where it has none
};
DescriptorValue* as_descriptor(const Sym& value);
template <PyTypeObject* cls>
Sym make_descriptor(Interpreter& interpreter, const CallArguments& arguments);
// What reading it through an instance (null: the class) gives.
Sym read_descriptor(Interpreter& interpreter, const Sym& descriptor, const Sym& instance,
                    const Sym& owner_class);
// instance.name = value, where the class has this property; null: del.
void set_by_descriptor(Interpreter& interpreter, const Sym& descriptor, const Sym& instance,
                       const Sym& value);
// property.setter(function) and its like; null: no such method.
Sym call_descriptor_method(Interpreter& interpreter, const Sym& descriptor, const std::string& name,
                           const CallArguments& arguments);

void add_descriptors(BuiltinEntries& entries);

}  // namespace numlift::frame_eval
