#include "kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "code_text.h"
#include "numlift/support/check.h"
#include "user_lines.h"

namespace numlift::codegen::cuda {
namespace {

std::string var_name(VarId var) { return fmt::format("i{}", static_cast<uint32_t>(var)); }

// The type behind `load<T>`: of an element in memory.
std::string load_code(DType dtype, const std::string& at) {
  return fmt::format("load<{}>({})", type_name(dtype), at);
}

std::string member_name(const KernelParameter& parameter) {
  switch (parameter.kind) {
    case KernelParameter::Kind::kBuffer:
      return fmt::format("b{}", parameter.index);
    case KernelParameter::Kind::kPrivate:
      return fmt::format("private{}", parameter.index);
    case KernelParameter::Kind::kSymbol:
      return fmt::format("s{}", parameter.index);
    case KernelParameter::Kind::kScalar:
      return fmt::format("x{}", parameter.index);
    case KernelParameter::Kind::kScratch:
      return "scratch";
    case KernelParameter::Kind::kPartials:
      return "partials";
    case KernelParameter::Kind::kStatus:
      return "status";
  }
  NUMLIFT_UNREACHABLE();
}

std::string_view member_type(const KernelParameter& parameter) {
  switch (parameter.kind) {
    case KernelParameter::Kind::kSymbol:
    case KernelParameter::Kind::kPartials:
      return "i64";
    case KernelParameter::Kind::kScalar:
      return type_name(parameter.dtype);
    default:
      return "char*";
  }
}

void note(std::vector<BufferId>* ids, BufferId id) {
  if (std::find(ids->begin(), ids->end(), id) == ids->end()) ids->push_back(id);
}

}  // namespace

void note_memory(const LoopNest& nest, const std::vector<Item>& items, std::vector<BufferId>* read,
                 std::vector<BufferId>* written) {
  for (const Item& item : items) {
    switch (item.kind) {
      case Item::Kind::kValue:
        if (nest.values[item.index].kind == Value::Kind::kLoad)
          note(read, nest.values[item.index].access.buffer);
        break;
      case Item::Kind::kStore:
        note(written, nest.stores[item.index].access.buffer);
        break;
      case Item::Kind::kLoop:
        note_memory(nest, nest.loops[item.index].body, read, written);
        break;
    }
  }
}

void KernelWriter::line(const std::string& text) {
  text_.append(2 * depth_, ' ');
  text_ += text;
  text_ += '\n';
}

void KernelWriter::open(const std::string& text) {
  line(text + " {");
  ++depth_;
}

void KernelWriter::close() {
  --depth_;
  line("}");
}

void KernelWriter::barrier() {
  has_barriers_ = true;
  line("__syncthreads();");
}

std::string KernelWriter::parameter(KernelParameter parameter) {
  if (std::find(parameters_.begin(), parameters_.end(), parameter) == parameters_.end())
    parameters_.push_back(parameter);
  return member_name(parameter);
}

std::string KernelWriter::size(const SizeExpr& size) {
  std::vector<SymbolId> symbols;
  size.collect_symbols(&symbols);
  for (SymbolId symbol : symbols)
    parameter({KernelParameter::Kind::kSymbol, static_cast<uint32_t>(symbol), DType::kInt64});
  return size_code(size);
}

std::string KernelWriter::name(ValueId id) const {
  return fmt::format("v{}", static_cast<uint32_t>(id));
}

std::string KernelWriter::accumulator(const Reduction& reduction) {
  return fmt::format("r{}", static_cast<uint32_t>(reduction.result));
}

// The user's line as a comment, once for all that comes of it.
void KernelWriter::note_location(uint32_t location) {
  if (location == 0 || location == location_) return;
  location_ = location;
  const SourceLocation& source = program_.graph.locations[location];
  if (source.line == 0) return;
  line(user_line_comment(source));
}

std::string KernelWriter::buffer(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  if (program_.buffers[index].kind == Buffer::Kind::kPrivate) {
    size(program_.buffers[index].bytes);
    parameter({KernelParameter::Kind::kPrivate, index, DType::kInt64});
  } else {
    parameter({KernelParameter::Kind::kBuffer, index, DType::kInt64});
  }
  return fmt::format("b{}", index);
}

std::string KernelWriter::address(const Access& access) {
  std::string code = buffer(access.buffer);
  if (access.offset != SizeExpr(0)) {
    size(access.offset);
    code += " + " + size_code(access.offset);
  }
  for (const auto& [var, stride] : access.strides) {
    size(stride);
    code += fmt::format(" + {} * {}", size_factor(stride), var_name(var));
  }
  return code;
}

void KernelWriter::value(ValueId id) {
  const Value& v = nest_.values[static_cast<uint32_t>(id)];
  const auto define = [&](const std::string& code) {
    line(fmt::format("const {} {} = {};", type_name(v.dtype), name(id), code));
  };
  switch (v.kind) {
    case Value::Kind::kOp:
      op(id);
      return;
    case Value::Kind::kLoad: {
      std::string at = address(v.access);
      for (size_t i = 0; i < v.operands.size(); ++i) {
        size(v.index_strides[i]);
        at += fmt::format(" + {} * {}", size_factor(v.index_strides[i]), name(v.operands[i]));
      }
      define(load_code(v.dtype, at));
      return;
    }
    case Value::Kind::kConstant:
      define(constant_code(v.constant));
      return;
    case Value::Kind::kScalarInput:
      define("p." + parameter({KernelParameter::Kind::kScalar, v.input, v.dtype}));
      return;
    case Value::Kind::kSize:
      define(size(v.size));
      return;
    case Value::Kind::kIndex:
      define(var_name(v.var));
      return;
    case Value::Kind::kReduction:
      NUMLIFT_CHECK(false, "a reduction's result is defined by its loop");
  }
}

void KernelWriter::op(ValueId id) {
  const Value& v = nest_.values[static_cast<uint32_t>(id)];
  note_location(v.location);
  std::vector<std::string> operands;
  std::string floating;
  for (ValueId operand : v.operands) {
    operands.push_back(name(operand));
    const DType dtype = nest_.values[static_cast<uint32_t>(operand)].dtype;
    if (is_float(dtype) || is_complex(dtype)) floating += ", " + name(operand);
  }
  const DType loop_dtype =
      nest_.values[static_cast<uint32_t>(v.operands[v.op == Op::kSelect ? 1 : 0])].dtype;
  for (const std::string& check : check_codes(v.op, loop_dtype, v.fp_checks, operands)) {
    reports_ = true;
    line(fmt::format("bad |= {};", check));
  }
  line(fmt::format("const {} {} = {};", type_name(v.dtype), name(id),
                   op_code(v.op, loop_dtype, v.dtype, operands)));
  if (v.op == Op::kCast) reports_ = true;
  if (v.fp_checks != 0 && (is_float(v.dtype) || is_complex(v.dtype))) {
    reports_ = true;
    line(fmt::format("bad |= nl_bad({}, {}, {}{});", v.fp_checks,
                     divides_by_zero_code(v.op, operands), name(id), floating));
  }
}

void KernelWriter::store(const Store& store) {
  line(fmt::format("store({}, {});", address(store.access), name(store.value)));
}

bool KernelWriter::has_stores(const std::vector<Item>& items) const {
  return std::any_of(items.begin(), items.end(), [&](const Item& item) {
    return item.kind == Item::Kind::kStore ||
           (item.kind == Item::Kind::kLoop && has_stores(nest_.loops[item.index].body));
  });
}

bool KernelWriter::stores_to_read(const std::vector<Item>& values,
                                  const std::vector<Item>& body) const {
  std::vector<BufferId> read, ignored, written;
  // Not of the loop itself, which is the last of them.
  note_memory(nest_, {values.begin(), values.end() - 1}, &read, &ignored);
  std::vector<BufferId> also_read;
  note_memory(nest_, body, &also_read, &written);
  return std::any_of(read.begin(), read.end(), [&](BufferId id) {
    return std::find(written.begin(), written.end(), id) != written.end();
  });
}

void KernelWriter::items(const std::vector<Item>& items, Mode mode) {
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    switch (item.kind) {
      case Item::Kind::kValue:
        value(ValueId{item.index});
        break;
      case Item::Kind::kStore:
        if (mode == Mode::kAlone) {
          store(nest_.stores[item.index]);
          break;
        }
        // Others may still read what is stored to, or read it next.
        barrier();
        open("if (threadIdx.x == 0)");
        for (; i < items.size() && items[i].kind == Item::Kind::kStore; ++i)
          store(nest_.stores[items[i].index]);
        --i;
        close();
        barrier();
        break;
      case Item::Kind::kLoop:
        loop(VarId{item.index}, mode);
        break;
    }
  }
}

KernelWriter::Chain KernelWriter::chain_of(VarId outermost) const {
  Chain chain;
  chain.loops.push_back(outermost);
  const Loop* loop = &nest_.loops[static_cast<uint32_t>(outermost)];
  chain.iterations = loop->extent;
  const std::vector<Reduction>& reductions = loop->reductions;
  for (;;) {
    const std::vector<Item>& body = loop->body;
    const bool goes_on = !body.empty() && body.back().kind == Item::Kind::kLoop &&
                         std::all_of(body.begin(), body.end() - 1, [](const Item& item) {
                           return item.kind == Item::Kind::kValue;
                         });
    if (goes_on) {
      const VarId inner{body.back().index};
      const Loop& next = nest_.loops[body.back().index];
      const size_t depth = chain.loops.size();
      const bool is_shared =
          std::all_of(reductions.begin(), reductions.end(), [&](const Reduction& reduction) {
            return reduction.loops.size() > depth && reduction.loops[depth] == inner;
          });
      // A loop that carries reductions of its own, or belongs to those of a loop further out, is
      // left as it is; so is one that runs in order, and one that stores to what is read before it,
      // and would be read again.
      if (!next.in_order && next.reductions.empty() && is_shared &&
          next.reduction == !reductions.empty() && !stores_to_read(body, next.body)) {
        chain.body.insert(chain.body.end(), body.begin(), body.end() - 1);
        chain.loops.push_back(inner);
        chain.iterations = chain.iterations * next.extent;
        loop = &next;
        continue;
      }
    }
    chain.body.insert(chain.body.end(), body.begin(), body.end());
    return chain;
  }
}

void KernelWriter::chain_loop(const Chain& chain, const std::string& first, const std::string& step,
                              Mode mode) {
  const std::string extent = size(chain.iterations);
  const Loop& outermost = nest_.loops[static_cast<uint32_t>(chain.loops[0])];
  if (chain.loops.size() == 1) {
    const std::string i = var_name(chain.loops[0]);
    open(fmt::format("for (i64 {0} = {1}; {0} < {2}; {0} += {3})", i, first, extent, step));
  } else {
    open(fmt::format("for (i64 at = {}; at < {}; at += {})", first, extent, step));
    line("i64 rest = at;");
    for (size_t k = chain.loops.size(); k-- > 1;) {
      const Loop& loop = nest_.loops[static_cast<uint32_t>(chain.loops[k])];
      line(fmt::format("const i64 {} = nl_split(rest, {});", var_name(chain.loops[k]),
                       size(loop.extent)));
    }
    line(fmt::format("const i64 {} = rest;", var_name(chain.loops[0])));
  }
  items(chain.body, mode);
  // What this loop's own innermost iteration gives: of loops further out, too.
  const VarId innermost = chain.loops.back();
  const auto add = [&](const Reduction& reduction) {
    if (reduction.loops.back() != innermost) return;
    const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
    const bool of_bool = reduction.op == Op::kReduceAny || reduction.op == Op::kReduceAll;
    std::string operand = name(reduction.operand);
    if (of_bool && dtype != DType::kBool) operand = fmt::format("nl_true({})", operand);
    if (reduction.position != kNoValue) operand += ", " + name(reduction.position);
    line(fmt::format("{}.add({});", accumulator(reduction), operand));
  };
  for (const Reduction& reduction : outermost.reductions) add(reduction);
  for (const Loop& loop : nest_.loops)
    if (&loop != &outermost)
      for (const Reduction& reduction : loop.reductions) add(reduction);
  close();
}

std::string KernelWriter::operation_of(const Reduction& reduction) const {
  const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
  const auto of = [&](std::string_view name) {
    return fmt::format("{}<{}>", name, type_name(dtype));
  };
  switch (reduction.op) {
    case Op::kReduceSum:
      return of("nl_sum");
    case Op::kReduceProd:
      return of("nl_product");
    case Op::kReduceMin:
      return of("nl_least_of");
    case Op::kReduceMax:
      return of("nl_largest_of");
    case Op::kReduceAny:
      return "nl_any_of<bool>";
    case Op::kReduceAll:
      return "nl_all_of<bool>";
    case Op::kReduceArgmin:
      return of("nl_place_of_least");
    case Op::kReduceArgmax:
      return of("nl_place_of_largest");
    default:
      NUMLIFT_UNREACHABLE();
  }
}

void KernelWriter::begin_reductions(const Loop& loop, bool of_partials) {
  for (const Reduction& reduction : loop.reductions) {
    const DType dtype = nest_.values[static_cast<uint32_t>(reduction.operand)].dtype;
    const bool pairwise =
        !of_partials && reduction.op == Op::kReduceSum && (is_float(dtype) || is_complex(dtype));
    line(pairwise ? fmt::format("nl_pairwise<{}> {};", type_name(dtype), accumulator(reduction))
                  : fmt::format("nl_accumulator<{}> {};", operation_of(reduction),
                                accumulator(reduction)));
  }
}

void KernelWriter::reduction_over_block(const Reduction& reduction) {
  has_barriers_ = true;
  line(fmt::format("{}.over_block();", accumulator(reduction)));
}

void KernelWriter::reduction_result(const Reduction& reduction) {
  const Value& v = nest_.values[static_cast<uint32_t>(reduction.result)];
  note_location(v.location);
  reports_ = true;
  line(fmt::format("const {0} {1} = {2}.result<{0}>({3}, bad);", type_name(v.dtype),
                   name(reduction.result), accumulator(reduction), reduction.fp_checks));
}

void KernelWriter::loop(VarId var, Mode mode) {
  const Loop& loop = nest_.loops[static_cast<uint32_t>(var)];
  begin_reductions(loop);
  if (mode == Mode::kAlone) {
    Chain single{{var}, loop.body, loop.extent};
    chain_loop(single, "0", "1", mode);
    for (const Reduction& reduction : loop.reductions)
      line(fmt::format("{}.finish();", accumulator(reduction)));
  } else {
    const Chain chain = chain_of(var);
    const bool stores = has_stores(chain.body);
    if (stores) barrier();
    chain_loop(chain, "threadIdx.x", "NL_BLOCK", Mode::kAlone);
    if (stores) barrier();
    for (const Reduction& reduction : loop.reductions) {
      line(fmt::format("{}.finish();", accumulator(reduction)));
      reduction_over_block(reduction);
    }
  }
  for (const Reduction& reduction : loop.reductions) reduction_result(reduction);
}

Kernel KernelWriter::finish(std::string kernel_name, Kernel::Shape shape, SizeExpr iterations,
                            bool reports) {
  reports = reports || reports_;
  if (reports) parameter({KernelParameter::Kind::kStatus, 0, DType::kInt64});
  Kernel kernel;
  kernel.shape = shape;
  kernel.iterations = std::move(iterations);
  kernel.parameters = parameters_;
  kernel.has_barriers = has_barriers_;

  std::string members, locals;
  for (const KernelParameter& one : parameters_) {
    const std::string member = member_name(one);
    members += fmt::format("  alignas(8) {} {};\n", member_type(one), member);
    if (one.kind == KernelParameter::Kind::kPrivate) {
      // A multiple of 16 bytes for each.
      locals += fmt::format("  char* const b{} = p.{} + nl_size_div({} + 15, 16) * 16 * ({});\n",
                            one.index, member, size_factor(program_.buffers[one.index].bytes),
                            private_index_);
    } else if (one.kind != KernelParameter::Kind::kScalar &&
               one.kind != KernelParameter::Kind::kStatus) {
      locals += fmt::format("  {} const {} = p.{};\n", member_type(one), member, member);
    }
  }
  if (reports) locals += "  bool bad = false;\n";
  kernel.text = fmt::format(
      "struct {0}_parameters {{\n{1}}};\n"
      "extern \"C\" __global__ void __launch_bounds__({2}) {0}(const {0}_parameters p) "
      "{{\n{3}{4}{5}}}\n",
      kernel_name, members, kBlockThreads, locals, text_,
      reports ? "  nl_report(bad, p.status);\n" : "");
  kernel.name = std::move(kernel_name);
  return kernel;
}

}  // namespace numlift::codegen::cuda
