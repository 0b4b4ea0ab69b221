// Enum classes and their members: members are constants, and what the enum module does with them is
// done for real.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Of the metaclass enum.EnumType itself.
bool is_enum_class(BorrowedRef object);
bool is_enum_member(BorrowedRef object);
// No method of the user's runs in the member's operators, comparisons, hash, truth or texts.
bool is_plain_enum_member(BorrowedRef object);

// The int or float that a member of an IntEnum or the like counts as in arithmetic; every other
// value stays.
Sym enum_number(Interpreter& interpreter, const Sym& value);
// The same as an operand beside `other`: to NumPy a member is a number with a dtype.
Sym enum_operand(Interpreter& interpreter, const Sym& value, const Sym& other);
// The same in a comparison, for which flags have no operators of their own.
Sym enum_compared(Interpreter& interpreter, const Sym& value, const Sym& other);

// What the metaclass and the descriptors of the enum module give. Null: leave it to the general
// rules.
Sym enum_class_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
Sym enum_member_attribute(Interpreter& interpreter, const Sym& owner, BorrowedRef name);
// Class(value), Class[name], iter(Class): null when no member is found without other code.
Sym call_enum_class(Interpreter& interpreter, const Sym& owner, const CallArguments& arguments);
Sym enum_class_item(Interpreter& interpreter, const Sym& owner, const Sym& key);
std::optional<std::vector<Sym>> enum_members(Interpreter& interpreter, const Sym& owner);

}  // namespace numlift::frame_eval
