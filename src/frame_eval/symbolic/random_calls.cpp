#include "symbolic/random_calls.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/numpy_views.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

// Where `size` stands among the arguments.
struct Draw {
  std::string_view name;
  size_t size_at;
};
constexpr size_t kNoSize = SIZE_MAX;
constexpr Draw kDraws[] = {
    {"beta", 2},
    {"binomial", 2},
    {"chisquare", 1},
    {"choice", 1},
    {"exponential", 1},
    {"f", 2},
    {"gamma", 2},
    {"geometric", 1},
    {"gumbel", 2},
    {"hypergeometric", 3},
    {"integers", 2},
    {"laplace", 2},
    {"logistic", 2},
    {"lognormal", 2},
    {"logseries", 1},
    {"negative_binomial", 2},
    {"normal", 2},
    {"pareto", 1},
    {"permutation", kNoSize},
    {"poisson", 1},
    {"power", 1},
    {"random", 0},
    {"rayleigh", 1},
    {"shuffle", kNoSize},
    {"standard_cauchy", 0},
    {"standard_exponential", 0},
    {"standard_gamma", 1},
    {"standard_normal", 0},
    {"standard_t", 1},
    {"triangular", 3},
    {"uniform", 2},
    {"vonmises", 2},
    {"wald", 2},
    {"weibull", 1},
    {"zipf", 1},
};

const Draw* find_draw(const std::string& name) {
  const auto found = std::find_if(std::begin(kDraws), std::end(kDraws),
                                  [&](const Draw& draw) { return draw.name == name; });
  return found == std::end(kDraws) ? nullptr : found;
}

BorrowedRef generator_class() {
  static PyObject* const found = [] {
    const Ref module = checked(PyImport_ImportModule("numpy.random"));
    return checked(PyObject_GetAttrString(module.get(), "Generator")).release();
  }();
  return found;
}

// Of the same class, for the trial call.
Ref other_generator() {
  const Ref module = checked(PyImport_ImportModule("numpy.random"));
  return checked(PyObject_CallMethod(module.get(), "default_rng", "i", 0));
}

Sym keyword(const CallArguments& arguments, const char* name) {
  for (const auto& [given, value] : arguments.keywords) {
    if (PyUnicode_CompareWithASCIIString(given.get(), name) == 0) return value;
  }
  return nullptr;
}

}  // namespace

bool is_draw(const Sym& generator, const std::string& name) {
  return generator->kind == SymKind::kObject && !as<ObjectValue>(generator).differs() &&
         object_of(generator).type() == reinterpret_cast<PyTypeObject*>(generator_class().get()) &&
         find_draw(name) != nullptr;
}

namespace {

// Of what is permuted or chosen from: an array, or the numbers below an int.
std::optional<std::vector<SizeExpr>> permuted_dims(Tracer& tracer, const CallArguments& arguments) {
  if (arguments.positional.empty()) return std::nullopt;
  const Sym& from = arguments.positional[0];
  if (from->kind == SymKind::kArray) return dims_of(tracer, as<ArrayValue>(from));
  const bool is_int = from->kind == SymKind::kSize ||
                      (from->kind == SymKind::kObject && PyLong_CheckExact(object_of(from).get()));
  if (!is_int) return std::nullopt;
  return std::vector<SizeExpr>{size_argument(tracer, from, "a permutation")};
}

// A vector is shuffled as permutation() permutes it.
Sym shuffle(Interpreter& interpreter, const Sym& generator, const CallArguments& arguments) {
  const bool is_vector = arguments.positional.size() == 1 && arguments.keywords.empty() &&
                         arguments.positional[0]->kind == SymKind::kArray &&
                         as<ArrayValue>(arguments.positional[0]).type.rank() == 1;
  if (!is_vector)
    throw_break("unsupported_numpy",
                "numpy.random.Generator.shuffle of something else than a vector");
  auto& array = as<ArrayValue>(arguments.positional[0]);
  const Sym permuted = call_draw(interpreter, generator, "permutation", arguments);
  interpreter.tracer.store(array, interpreter.tracer.read(as<ArrayValue>(permuted)));
  return interpreter.none();
}

}  // namespace

Sym call_draw(Interpreter& interpreter, const Sym& generator, const std::string& name,
              CallArguments arguments) {
  if (name == "shuffle") return shuffle(interpreter, generator, arguments);
  Tracer& tracer = interpreter.tracer;
  const std::string path = "numpy.random.Generator." + name;
  if (!tracer.takes_control_flow) throw_break("unsupported_numpy", path + " with this backend");
  if (const Sym out = keyword(arguments, "out"); out && !is_none(out))
    throw_break("numpy_argument", path + " with out=");
  const size_t size_at = find_draw(name)->size_at;
  Sym size = keyword(arguments, "size");
  if (!size && arguments.positional.size() > size_at) size = arguments.positional[size_at];
  std::optional<std::vector<SizeExpr>> dims;
  if (!is_none(size)) dims = shape_argument(tracer, size, path);
  if (size_at == kNoSize) dims = permuted_dims(tracer, arguments);
  if (name == "choice" && dims) {
    const auto from = permuted_dims(tracer, arguments);
    if (!from || from->size() != 1) dims = std::nullopt;  // rows
  }
  const Ref method = checked(PyObject_GetAttrString(generator_class().get(), name.c_str()));
  arguments.positional.insert(arguments.positional.begin(), generator);
  const Sym drawn =
      tracer.draw(method, arguments.positional, arguments.keywords, path,
                  dims ? ExternDims::kUnknown : ExternDims::kGuess, other_generator());
  if (dims && drawn->kind == SymKind::kArray &&
      as<ArrayValue>(drawn).type.dims.size() == dims->size())
    tracer.promise_sizes(drawn, std::move(*dims));
  return drawn;
}

}  // namespace numlift::frame_eval
