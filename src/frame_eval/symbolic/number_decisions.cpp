#include "symbolic/number_decisions.h"

#include "numlift/py/py_error.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {
namespace {

bool is_input(const Sym& value) {
  if (!value->source || value->source->kind == guards::Source::Kind::kConstant) return false;
  if (value->kind == SymKind::kSize) return true;
  return value->kind == SymKind::kScalar &&
         as<ScalarValue>(value).type == py_scalar_type(DType::kFloat64);
}

bool is_constant(const Sym& value) {
  if (value->kind != SymKind::kObject || value->source) return false;
  PyObject* object = object_of(value).get();
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
}

}  // namespace

std::optional<bool> decide_on_input(Interpreter& interpreter, int compare, const Sym& a,
                                    const Sym& b) {
  if (is_constant(a) && is_input(b)) {
    static constexpr int kMirrored[] = {4, 5, 2, 3, 0, 1};
    return decide_on_input(interpreter, kMirrored[compare], b, a);
  }
  if (!is_input(a) || !is_constant(b)) return std::nullopt;
  const Ref now = interpreter.tracer.present_value(a);
  static constexpr int kRich[] = {Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE};
  const int outcome = PyObject_RichCompareBool(now.get(), object_of(b).get(), kRich[compare]);
  if (outcome < 0) throw PyError();
  interpreter.tracer.guard(a->source,
                           guards::Compares{compare, Ref::create(object_of(b)), outcome == 1},
                           "a comparison at " + interpreter.location_text());
  return outcome == 1;
}

}  // namespace numlift::frame_eval
