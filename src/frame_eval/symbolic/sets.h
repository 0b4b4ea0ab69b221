// Sets made in the frame. Their items are constants, and a real set goes with each, on which every
// operation is done by Python itself: its order is the one that the program's set has.
#pragma once

#include <optional>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

struct SetValue : SymbolicValue {
  explicit SetValue(Ref real) : SymbolicValue(SymKind::kSet), real(std::move(real)) {}
  Ref real;
  uint64_t changes = 0;  // how often it was changed
};

bool is_set(const Sym& value);  // a set made inside, or a constant frozenset

// A set or frozenset that was just made.
Sym set_from_real(Interpreter& interpreter, Ref real);
// Items of a display, in their order.
Sym make_set(Interpreter& interpreter, const std::vector<Sym>& items);
// set(iterable)
Sym set_of(Interpreter& interpreter, const Sym& iterable);
void add_to_set(Interpreter& interpreter, SetValue& set, const Sym& item);
void update_set(Interpreter& interpreter, SetValue& set, const Sym& iterable);
bool set_contains(Interpreter& interpreter, const Sym& set, const Sym& item);
std::vector<Sym> set_items(Interpreter& interpreter, const Sym& set);
std::shared_ptr<IteratorValue> make_set_iterator(Interpreter& interpreter, const Sym& set);

bool has_set_method(const std::string& name);
Sym set_method(Interpreter& interpreter, const Sym& self, const std::string& name,
               const CallArguments& arguments);
// Operators between sets and views of dicts; nullopt: these operands are none.
std::optional<Sym> set_binary(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                              const Sym& b);
std::optional<bool> set_compare(Interpreter& interpreter, int compare, const Sym& a, const Sym& b);

// How CPython makes a set with the same items in the same order; nullopt: it has to do all of it.
std::optional<CallShape> set_shape(const SetValue& set);

}  // namespace numlift::frame_eval
