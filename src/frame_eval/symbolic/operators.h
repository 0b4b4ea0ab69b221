// Python's operators on symbolic values, whatever their kinds: the one place where `+`, `<`, `in`,
// `is`, truth and subscription are told apart by operand.
#pragma once

#include "symbolic/interpreter.h"
#include "symbolic/numpy_calls.h"

namespace numlift::frame_eval {

// CPython's NB_ numbers, the same in all supported versions; in-place forms are 13 higher.
enum NbOp : int {
  kNbAdd = 0,
  kNbAnd = 1,
  kNbFloorDivide = 2,
  kNbLshift = 3,
  kNbMatrixMultiply = 4,
  kNbMultiply = 5,
  kNbRemainder = 6,
  kNbOr = 7,
  kNbPower = 8,
  kNbRshift = 9,
  kNbSubtract = 10,
  kNbTrueDivide = 11,
  kNbXor = 12,
};
enum CompareIndex : int {
  kLess = 0,
  kLessEqual = 1,
  kEqual = 2,
  kNotEqual = 3,
  kGreater = 4,
  kGreaterEqual = 5
};

// A number that may be Python's or NumPy's, of one value (ScalarValue::either).
bool is_either(const Sym& value);
// The result of operands of which one may be either. `same`: both give the same value.
Sym class_of_either(bool same, const Sym& a, const Sym& b, Sym result);

Sym binary_operation(Interpreter& interpreter, int nb_op, bool in_place, const Sym& a,
                     const Sym& b);
Sym unary_operation(Interpreter& interpreter, UnaryOp op, const Sym& value);
Sym compare_operation(Interpreter& interpreter, int compare, const Sym& a, const Sym& b);
bool is_identical(Interpreter& interpreter, const Sym& a, const Sym& b);
bool contains(Interpreter& interpreter, const Sym& container, const Sym& item);
// Decides, and guards what it decided by. Throws Break when only the program knows.
bool truth(Interpreter& interpreter, const Sym& value);
// `a == b` as containers ask it: identity first.
bool equal_items(Interpreter& interpreter, const Sym& a, const Sym& b);

Sym get_item(Interpreter& interpreter, const Sym& container, const Sym& key);
void set_item(Interpreter& interpreter, const Sym& container, const Sym& key, const Sym& value);
void delete_item(Interpreter& interpreter, const Sym& container, const Sym& key);

// len(value)
Sym length_of(Interpreter& interpreter, const Sym& value);
// A Python int that must be known now (an index, a count), specialised if need be.
int64_t concrete_int(Interpreter& interpreter, const Sym& value, const char* what);

}  // namespace numlift::frame_eval
