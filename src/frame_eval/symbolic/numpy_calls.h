// NumPy as the tracer sees it: calls, operators, attributes, methods, indexing. Everything that
// NumPy does to arrays and NumPy scalars goes through these few functions; the interpreter knows no
// NumPy.
#pragma once

#include <span>
#include <utility>

#include "symbolic/tracer.h"
#include "symbolic/value.h"

namespace numlift::frame_eval {

using Keywords = std::span<const std::pair<Ref, Sym>>;

// Is `callable` NumPy's (a function of numpy, numpy.linalg, …, a ufunc, a scalar class, a bound
// method of a ufunc such as np.add.reduce, a method of ndarray)?
bool is_numpy_callable(BorrowedRef callable);
// Does an operation with this operand belong to NumPy (array or NumPy scalar)?
bool is_numpy_value(const Sym& value);

// Each throws Break for what NumPy would refuse (CPython then raises it) and for what is not
// covered.
Sym numpy_call(Tracer& tracer, BorrowedRef callable, std::span<const Sym> args, Keywords kwargs);
// nb_op: CPython's NB_ number below 13. In place: `a` is an array and is stored to (returns it) or
// a scalar (a new value).
Sym numpy_binary(Tracer& tracer, int nb_op, bool in_place, const Sym& a, const Sym& b);
enum class UnaryOp : uint8_t { kNegative, kPositive, kInvert };
Sym numpy_unary(Tracer& tracer, UnaryOp op, const Sym& a);
// abs(): np.absolute, but NumPy integers watch for overflow as with the operators.
Sym numpy_absolute(Tracer& tracer, const Sym& a);
// compare: 0 <, 1 <=, 2 ==, 3 !=, 4 >, 5 >=
Sym numpy_compare(Tracer& tracer, int compare, const Sym& a, const Sym& b);
// Attributes of arrays and NumPy scalars: shape, dtype, T, real, …; methods come as MethodValue.
Sym numpy_get_attribute(Tracer& tracer, const Sym& value, BorrowedRef name);
void numpy_set_attribute(Tracer& tracer, const Sym& value, BorrowedRef name, const Sym& content);
Sym numpy_call_method(Tracer& tracer, const Sym& self, BorrowedRef name, std::span<const Sym> args,
                      Keywords kwargs);
Sym numpy_get_item(Tracer& tracer, const Sym& value, const Sym& key);
// np.s_[key], np.index_exp, np.r_, np.c_, np.mgrid, np.ogrid. Null when `object` is none of them.
Sym numpy_index_object(Tracer& tracer, const Sym& object, const Sym& key);
void numpy_set_item(Tracer& tracer, const Sym& value, const Sym& key, const Sym& content);
// len(), bool(), float(), int(), complex(), iteration over axis 0 (items are views or scalars).
Sym numpy_length(Tracer& tracer, const Sym& value);
Sym numpy_to_number(Tracer& tracer, PyTypeObject* number_type, const Sym& value);
// bool() of a number that only the run knows is one, too; what branches on it asks truth().
Sym numpy_to_bool(Tracer& tracer, const Sym& value);
std::vector<Sym> numpy_iterate(Tracer& tracer, const Sym& value);
// How many rows iteration gives, specialised. A loop reads them one by one: its body may store to
// them.
int64_t numpy_row_count(Tracer& tracer, const Sym& value);

}  // namespace numlift::frame_eval
