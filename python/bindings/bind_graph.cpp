// Graphs as Python objects: what numlift.fx builds its Graph from, and how a user's backend is
// asked.
#include <pybind11/stl.h>

#include "bindings.h"
#include "numlift/graph/transforms.h"
#include "numlift/frame_eval/backend.h"
#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/output.h"
#include "numlift/numpy_shim/run_graph.h"

namespace py = pybind11;

namespace numlift {
namespace {

using frame_eval::BackendProgram;
using frame_eval::ExternRecipe;
using frame_eval::InputSpec;

py::object taken(Ref ref) { return py::reinterpret_steal<py::object>(ref.release()); }

std::string python_text(const SizeExpr& size);

std::string python_text(const SizeExpr::Atom& atom) {
  using Kind = SizeExpr::AtomKind;
  const auto both = [&](const char* format_open, const char* between) {
    return format_open + python_text(atom.left) + between + python_text(atom.right) + ")";
  };
  switch (atom.kind) {
    case Kind::kSymbol:
      return "s" + std::to_string(static_cast<uint32_t>(atom.symbol));
    case Kind::kFloorDiv:
      return both("((", ") // (") + ")";
    case Kind::kFloorMod:
      return both("((", ") % (") + ")";
    case Kind::kMin:
      return both("min(", ", ");
    case Kind::kMax:
      return both("max(", ", ");
  }
  NUMLIFT_UNREACHABLE();
}

// The expression in Python's words; symbols are s0, s1, …
std::string python_text(const SizeExpr& size) {
  std::string text;
  for (const SizeExpr::Term& term : size.terms()) {
    std::string product;
    if (term.coefficient == -1) {
      product = "-";
    } else if (term.coefficient != 1) {
      product = std::to_string(term.coefficient) + "*";
    }
    for (size_t i = 0; i < term.atoms.size(); ++i)
      product += (i == 0 ? "" : "*") + python_text(*term.atoms[i]);
    text += text.empty() || product.starts_with('-') ? product : "+" + product;
  }
  const int64_t constant = size.constant_part();
  if (constant == 0 && !text.empty()) return text;
  const std::string digits = std::to_string(constant);
  return text.empty() || constant < 0 ? text + digits : text + "+" + digits;
}

// An int, or the text of an expression.
py::object size_object(const SizeExpr& size) {
  if (const auto constant = size.constant()) return py::int_(*constant);
  return py::str(python_text(size));
}

py::tuple size_tuple(const std::vector<SizeExpr>& sizes) {
  py::tuple result(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) result[i] = size_object(sizes[i]);
  return result;
}

// By axis of the operand: (start, step, view axis, first, end, stride): the elements are
// operand[first:end:stride], turned round when step is negative. step: a number in the example.
py::tuple map_tuple(const Graph& graph, const IndexMap& map, const Type& view) {
  const std::vector<int64_t> hints = graph.symbol_hints();
  py::tuple result(map.axes.size());
  for (size_t i = 0; i < map.axes.size(); ++i) {
    const IndexMap::Axis& axis = map.axes[i];
    const SizeExpr count = axis.axis < 0 ? SizeExpr(1) : view.dims[static_cast<size_t>(axis.axis)];
    const int64_t step = axis.step.evaluate(hints).value_or(1);
    const SizeExpr last = axis.start + axis.step * (count - 1);
    result[i] = py::make_tuple(
        size_object(axis.start), step, axis.axis, size_object(step < 0 ? last : axis.start),
        size_object(step < 0 ? axis.start + 1 : axis.start + axis.step * count),
        size_object(step < 0 ? -axis.step : axis.step));
  }
  return result;
}

const char* kind_word(ValueKind kind) {
  switch (kind) {
    case ValueKind::kArray:
      return "array";
    case ValueKind::kNumpyScalar:
      return "numpy scalar";
    case ValueKind::kPyScalar:
      return "python scalar";
    case ValueKind::kObject:
      return "object";
    case ValueKind::kEffect:
      return "effect";
  }
  NUMLIFT_UNREACHABLE();
}

const char* class_word(OpClass op_class) {
  switch (op_class) {
    case OpClass::kElementwise:
      return "elementwise";
    case OpClass::kLeaf:
      return "leaf";
    case OpClass::kView:
      return "view";
    case OpClass::kMemory:
      return "memory";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kControl:
      return "control";
    case OpClass::kGather:
      return "gather";
    case OpClass::kGufunc:
      return "gufunc";
    case OpClass::kExtern:
      return "extern";
  }
  NUMLIFT_UNREACHABLE();
}

void describe_attr(const Graph& graph, const Node& node, py::dict* to) {
  py::dict& d = *to;
  if (const auto* placeholder = std::get_if<PlaceholderAttr>(&node.attr)) {
    d["input"] = placeholder->input;
  } else if (const auto* constant = std::get_if<ConstantAttr>(&node.attr)) {
    const bool python = node.type.value_kind == ValueKind::kPyScalar;
    const void* bytes = constant->value.bytes.data();
    d["value"] = taken(python ? numpy_shim::make_py_scalar(constant->value.dtype, bytes)
                              : numpy_shim::make_numpy_scalar(constant->value.dtype, bytes));
  } else if (const auto* size = std::get_if<SizeAttr>(&node.attr)) {
    d["size"] = size_object(size->value);
  } else if (const auto* iota = std::get_if<IotaAttr>(&node.attr)) {
    d["axis"] = iota->axis;
  } else if (const auto* view = std::get_if<ViewAttr>(&node.attr)) {
    d["map"] = map_tuple(graph, view->map, node.type);
  } else if (const auto* part = std::get_if<PartAttr>(&node.attr)) {
    d["part"] = part->imaginary ? "imag" : "real";
  } else if (const auto* reduce = std::get_if<ReduceAttr>(&node.attr)) {
    d["axes"] = py::tuple(py::cast(reduce->axes));
  } else if (const auto* call = std::get_if<ExternAttr>(&node.attr)) {
    d["call"] = call->call;
    d["pure"] = graph.externs[call->call].pure;
  } else if (const auto* item = std::get_if<ExternItemAttr>(&node.attr)) {
    d["path"] = py::tuple(py::cast(item->path));
  }
}

py::dict describe_node(const Graph& graph, const Node& node) {
  py::dict d;
  const OpInfo& info = op_info(node.op);
  d["op"] = std::string(info.text);
  d["class"] = class_word(info.op_class);
  std::vector<uint32_t> operands;
  for (NodeId operand : node.operands) operands.push_back(index_of(operand));
  d["operands"] = operands;
  d["kind"] = kind_word(node.type.value_kind);
  d["dtype"] = py::reinterpret_borrow<py::object>(numpy_shim::descr_of(node.type.dtype).get());
  d["shape"] = size_tuple(node.type.dims);
  d["order"] = py::tuple(py::cast(std::vector<int>(node.order.begin(), node.order.end())));
  d["fp"] = node.fp_checks;
  const SourceLocation& place = graph.locations[node.location];
  d["place"] = py::make_tuple(place.file, place.line, place.function);
  Ref function = numpy_shim::numpy_function_of(graph, node);
  d["function"] = function ? taken(std::move(function)) : py::none();
  describe_attr(graph, node, &d);
  return d;
}

py::dict describe_graph(const Graph& graph, const std::vector<InputSpec>& specs,
                        const std::vector<ExternRecipe>& externs) {
  py::list nodes, symbols, inputs, calls;
  for (const Node& node : graph.nodes()) nodes.append(describe_node(graph, node));
  for (const Symbol& symbol : graph.symbols) {
    const char* kind = symbol.kind == SymbolKind::kDim      ? "dim"
                       : symbol.kind == SymbolKind::kStride ? "stride"
                       : symbol.kind == SymbolKind::kInt    ? "int"
                                                            : "extern";
    symbols.append(py::make_tuple(kind, symbol.input, symbol.axis, symbol.hint));
  }
  for (const InputSpec& spec : specs) inputs.append(spec.source->text());
  for (size_t i = 0; i < externs.size(); ++i) {
    const ExternRecipe& recipe = externs[i];
    const auto arguments = [recipe](const std::vector<py::object>& operands) {
      return with_python_errors([&] {
        std::vector<Ref> refs;
        for (const py::object& operand : operands) refs.push_back(Ref::create(operand.ptr()));
        return taken(frame_eval::extern_arguments(recipe, refs));
      });
    };
    calls.append(py::make_tuple(graph.externs[i].name,
                                py::reinterpret_borrow<py::object>(recipe.callable.get()),
                                py::cpp_function(arguments)));
  }
  std::vector<uint32_t> outputs;
  for (NodeId id : graph.outputs) outputs.push_back(index_of(id));
  return py::dict(py::arg("name") = graph.name, py::arg("nodes") = nodes,
                  py::arg("symbols") = symbols, py::arg("inputs") = inputs,
                  py::arg("externs") = calls, py::arg("outputs") = outputs);
}

BackendProgram ask_backend(BorrowedRef backend, const Graph& graph,
                           const std::vector<InputSpec>& specs,
                           const std::vector<ExternRecipe>& externs, const std::vector<Ref>& inputs,
                           std::span<const int64_t> symbols) {
  try {
    py::list examples;
    for (const Ref& input : inputs)
      examples.append(py::reinterpret_borrow<py::object>(input.get()));
    const py::tuple made =
        py::module_::import("numlift.fx")
            .attr("ask_backend")(py::reinterpret_borrow<py::object>(backend.get()),
                                 describe_graph(graph, specs, externs), examples,
                                 std::vector<int64_t>(symbols.begin(), symbols.end()));
    BackendProgram program;
    program.callable = Ref::create(py::object(made[0]).ptr());
    program.inputs = made[1].cast<std::vector<uint32_t>>();
    for (uint32_t id : made[2].cast<std::vector<uint32_t>>())
      program.symbols.push_back(SymbolId{id});
    return program;
  } catch (py::error_already_set& error) {
    error.restore();
    throw PyError();
  }
}

// The op table's columns of transforms, and why an op has no rule.
py::list op_rules() {
  py::list rules;
#define NUMLIFT_OP(name, ...)                                                   \
  rules.append(py::dict(py::arg("op") = op_info(Op::k##name).text,              \
                        py::arg("gradient") = rule_names(Op::k##name).gradient, \
                        py::arg("batching") = rule_names(Op::k##name).batching, \
                        py::arg("no_gradient") = gradient_refusal(Op::k##name), \
                        py::arg("no_batching") = batching_refusal(Op::k##name)));
#include "numlift/graph/ops.def"
#undef NUMLIFT_OP
  return rules;
}

}  // namespace

void bind_graph(py::module_& module) {
  frame_eval::set_backend_maker(&ask_backend);
  module.def("op_rules", &op_rules);
}

}  // namespace numlift
