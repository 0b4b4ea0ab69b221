// nest_text and program_text: one line a loop, value, store; the user's lines as comments.
#include "schedule/print.h"

#include <fmt/format.h>

#include "numlift/graph/scalar.h"
#include "numlift/support/check.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace {

std::string checks_text(uint8_t fp_checks) {
  return fp_checks == 0 ? "" : fmt::format(" {{fp={}}}", fp_checks);
}

// A stride as a factor: "8*i0", "(8*s0 + 8)*i0".
std::string factor_text(const SizeExpr& size) {
  const bool is_sum = size.terms().size() + (size.constant_part() != 0 ? 1 : 0) > 1;
  return is_sum ? fmt::format("({})", size.text()) : size.text();
}

std::string access_text(const Access& access) {
  std::string text;
  for (const auto& [var, stride] : access.strides) {
    if (!text.empty()) text += " + ";
    text += fmt::format("{}*i{}", factor_text(stride), static_cast<uint32_t>(var));
  }
  if (text.empty() || access.offset.constant() != 0) {
    if (!text.empty()) text += " + ";
    text += access.offset.text();
  }
  return fmt::format("b{}[{}]", static_cast<uint32_t>(access.buffer), text);
}

class NestPrinter {
 public:
  NestPrinter(const LoopNest& nest, const Graph& graph) : nest_(nest), graph_(graph) {}

  std::string run() {
    text_ = fmt::format("nest: work {}, cost {}\n", nest_.work.text(), nest_.cost);
    print(nest_.root, 1);
    return std::move(text_);
  }

 private:
  void print(const std::vector<Item>& body, size_t depth) {
    for (const Item& item : body) {
      switch (item.kind) {
        case Item::Kind::kValue: {
          const Value& value = nest_.values[item.index];
          line(depth,
               fmt::format("%{} = {} : {}{}", item.index, value_text(value),
                           dtype_text(value.dtype), checks_text(value.fp_checks)),
               value.kind == Value::Kind::kOp ? value.location : 0);
          break;
        }
        case Item::Kind::kStore: {
          const Store& store = nest_.stores[item.index];
          line(depth, fmt::format("store {} = {}", access_text(store.access), name(store.value)),
               0);
          break;
        }
        case Item::Kind::kLoop:
          print_loop(item.index, depth);
          break;
      }
    }
  }

  void print_loop(uint32_t id, size_t depth) {
    const Loop& loop = nest_.loops[id];
    std::string flags;
    if (loop.parallel) flags += "parallel ";
    if (loop.vector) flags += "vector ";
    if (loop.reduction) flags += "reduction ";
    if (loop.in_order) flags += "in order ";
    line(depth, fmt::format("{}for i{} in {}:", flags, id, loop.extent.text()), 0);
    print(loop.body, depth + 1);
    for (const Reduction& reduction : loop.reductions) {
      std::string over;
      for (VarId var : reduction.loops) {
        over += fmt::format("{}i{}", over.empty() ? "" : ", ", static_cast<uint32_t>(var));
      }
      const Value& result = nest_.values[static_cast<size_t>(reduction.result)];
      const std::string position =
          reduction.position == kNoValue ? "" : fmt::format(" at {}", name(reduction.position));
      line(depth,
           fmt::format("{} = {} {}{} over {} : {}{}", name(reduction.result),
                       op_info(reduction.op).text, name(reduction.operand), position, over,
                       dtype_text(result.dtype), checks_text(reduction.fp_checks)),
           result.location);
    }
  }

  std::string value_text(const Value& value) const {
    switch (value.kind) {
      case Value::Kind::kOp: {
        std::string text(op_info(value.op).text);
        for (size_t i = 0; i < value.operands.size(); ++i) {
          text += fmt::format("{}{}", i == 0 ? " " : ", ", name(value.operands[i]));
        }
        return text;
      }
      case Value::Kind::kLoad: {
        std::string text = "load " + access_text(value.access);
        for (size_t i = 0; i < value.operands.size(); ++i)
          text += fmt::format(" + {} * {}", name(value.operands[i]), value.index_strides[i].text());
        return text;
      }
      case Value::Kind::kConstant:
        return "constant " + scalar_text(value.constant);
      case Value::Kind::kScalarInput:
        return fmt::format("input {}", value.input);
      case Value::Kind::kSize:
        return "size " + value.size.text();
      case Value::Kind::kIndex:
        return fmt::format("index i{}", static_cast<uint32_t>(value.var));
      case Value::Kind::kReduction:
        return "reduction";
    }
    NUMLIFT_UNREACHABLE();
  }

  static std::string name(ValueId id) { return fmt::format("%{}", static_cast<uint32_t>(id)); }

  void line(size_t depth, const std::string& text, uint32_t location) {
    text_.append(2 * depth, ' ');
    text_ += text;
    const SourceLocation& source = graph_.locations[location];
    if (location != 0 && source.line != 0) {
      text_ += fmt::format("   # {}:{}", source.file, source.line);
    }
    text_ += '\n';
  }

  const LoopNest& nest_;
  const Graph& graph_;
  std::string text_;
};

std::string list_text(const std::vector<SizeExpr>& sizes) {
  std::string text;
  for (const SizeExpr& size : sizes) text += (text.empty() ? "" : ", ") + size.text();
  return fmt::format("[{}]", text);
}

std::string buffer_text(const Program& program, size_t id) {
  const Buffer& buffer = program.buffers[id];
  const std::string type =
      fmt::format("b{}: {}{}", id, dtype_text(buffer.dtype), list_text(buffer.dims));
  const std::string strides = " strides " + list_text(buffer.strides);
  switch (buffer.kind) {
    case Buffer::Kind::kInput:
      return fmt::format("{} input {}{}{}", type, buffer.input, strides,
                         buffer.stored_to ? " stored to" : "");
    case Buffer::Kind::kArray:
      return type + " array" + strides;
    case Buffer::Kind::kScalar:
      return type + " scalar";
    case Buffer::Kind::kTemp:
      return fmt::format("{} temp slot {}{}", type, buffer.slot, strides);
    case Buffer::Kind::kLocal:
      return type + " local";
    case Buffer::Kind::kPrivate:
      return type + " private";
    case Buffer::Kind::kExtern:
      return fmt::format("{} extern item %{}", type, index_of(buffer.node));
  }
  NUMLIFT_UNREACHABLE();
}

std::string value_ref_text(const ValueRef& value) {
  const uint32_t buffer = static_cast<uint32_t>(value.buffer);
  switch (value.kind) {
    case ValueRef::Kind::kBufferArray:
      return fmt::format("array b{}", buffer);
    case ValueRef::Kind::kInputObject:
      return fmt::format("input {}", value.input);
    case ValueRef::Kind::kView:
      return fmt::format("view b{} {}{} offset {} strides {}", buffer, dtype_text(value.dtype),
                         list_text(value.dims), value.offset.text(), list_text(value.strides));
    case ValueRef::Kind::kNumpyScalar:
      return fmt::format("scalar b{}", buffer);
    case ValueRef::Kind::kPyScalar:
      return fmt::format("python scalar b{}", buffer);
    case ValueRef::Kind::kSize:
      return "size " + value.size.text();
    case ValueRef::Kind::kObject:
      return fmt::format("object %{}", index_of(value.node));
  }
  NUMLIFT_UNREACHABLE();
}

std::string name(BufferId id) { return fmt::format("b{}", static_cast<uint32_t>(id)); }
std::string name(SymbolId id) { return fmt::format("s{}", static_cast<uint32_t>(id)); }

std::string assign_text(const AssignStep& step) {
  std::string names, values;
  for (const AssignStep::Assignment& one : step.assignments) {
    const std::string_view comma = names.empty() ? "" : ", ";
    names += fmt::format("{}{}", comma, name(one.symbol));
    values += fmt::format("{}{}", comma, one.buffer ? name(*one.buffer) : one.size.text());
  }
  return fmt::format("{} = {}\n", names, values);
}

std::string step_text(const Program& program, const Step& step) {
  if (const auto* nest = std::get_if<NestStep>(&step)) {
    return (nest->is_inline ? "inline " : "") + nest_text(nest->nest, program.graph);
  }
  if (const auto* loop = std::get_if<LoopStep>(&step)) {
    return fmt::format("loop %{} {} in {}:{}\n", index_of(loop->node), name(loop->counter),
                       loop->trips ? loop->trips->text() : "endless", loop->polls ? " polls" : "");
  }
  if (const auto* branch = std::get_if<IfStep>(&step))
    return fmt::format("if %{} {}:\n", index_of(branch->node), name(branch->condition));
  if (const auto* block = std::get_if<BlockStep>(&step))
    return fmt::format("block %{}:\n", index_of(block->node));
  if (std::holds_alternative<ElseStep>(step)) return "else:\n";
  if (std::holds_alternative<EndStep>(step)) return "end\n";
  if (const auto* jump = std::get_if<JumpStep>(&step))
    return fmt::format("{} %{}\n", jump->again ? "continue" : "break", index_of(jump->target));
  if (const auto* assign = std::get_if<AssignStep>(&step)) return assign_text(*assign);
  if (const auto* swap = std::get_if<SwapStep>(&step))
    return fmt::format("swap {}, {}\n", name(swap->first), name(swap->second));
  if (const auto* check = std::get_if<CheckStep>(&step))
    return fmt::format("check {}\n", name(check->condition));
  if (const auto* call = std::get_if<ExternStep>(&step)) {
    std::string text = fmt::format("extern {} (%{})", program.graph.externs[call->call].name,
                                   index_of(call->node));
    for (const ValueRef& operand : call->operands) text += ", " + value_ref_text(operand);
    for (const auto& [item, buffer] : call->items) {
      text += fmt::format("; %{} in b{}", index_of(item), static_cast<uint32_t>(buffer));
    }
    return text + "\n";
  }
  if (const auto* loop = std::get_if<NumpyLoopStep>(&step)) {
    std::string text = fmt::format("numpy loop {} of {}", program.graph.loops[loop->loop].name,
                                   loop->count.text());
    for (const SizeExpr& dim : loop->core_dims) text += " x " + dim.text();
    const auto argument_text = [](const NumpyLoopStep::Argument& argument) {
      std::string text = fmt::format("b{}", static_cast<uint32_t>(argument.buffer));
      if (argument.offset.constant() != 0) text += "+" + argument.offset.text();
      text += " step " + argument.step.text();
      for (const SizeExpr& stride : argument.core_strides) text += ", " + stride.text();
      return text;
    };
    text += fmt::format(": {} =", argument_text(loop->arguments.back()));
    for (size_t i = 0; i + 1 < loop->arguments.size(); ++i)
      text += (i == 0 ? " " : "; ") + argument_text(loop->arguments[i]);
    return text + checks_text(loop->fp_checks) + "\n";
  }
  return fmt::format("allocate b{}\n", static_cast<uint32_t>(std::get<AllocateStep>(step).buffer));
}

std::string indented(const std::string& lines, size_t spaces) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at) + 1;
    text.append(spaces, ' ');
    text += lines.substr(at, end - at);
    at = end;
  }
  return text;
}

}  // namespace

std::string nest_text(const LoopNest& nest, const Graph& graph) {
  return NestPrinter(nest, graph).run();
}

std::string program_text(const Program& program) {
  std::string text;
  for (size_t i = 0; i < program.buffers.size(); ++i) text += buffer_text(program, i) + "\n";
  for (size_t i = 0; i < program.temp_slot_bytes.size(); ++i) {
    text += fmt::format("slot {}: {} bytes\n", i, program.temp_slot_bytes[i].text());
  }
  size_t depth = 0;
  for (const Step& step : program.steps) {
    const bool is_else = std::holds_alternative<ElseStep>(step);
    if (is_else || std::holds_alternative<EndStep>(step)) --depth;
    text += indented(step_text(program, step), 2 * depth);
    if (is_else || begun_by(step) != kNoNode) ++depth;
  }
  for (const ValueRef& output : program.outputs) text += "return " + value_ref_text(output) + "\n";
  return text;
}

}  // namespace numlift::codegen
