#include "schedule/control_steps.h"

#include <algorithm>

#include "numlift/support/check.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace {

// Up to this many simple operations (while tracing) a nest gains nothing from several threads, and
// a call of it would cost.
// Nests with loops that stand inline in one program: LLVM takes more than linear time for one long
// function.
constexpr int kMostInlineLoops = 100;
constexpr int64_t kMostInlineWork = 16'384;

BufferId buffer_of(const Plan& plan, NodeId id) {
  NUMLIFT_CHECK(plan.of(id).place, "%{} steers the program and has no memory", index_of(id));
  return plan.of(id).place->buffer;
}

Step make_assign_step(const Plan& plan, const Node& node) {
  AssignStep step;
  const auto& symbols = attr_of<AssignAttr>(node).symbols;
  for (size_t i = 0; i < symbols.size(); ++i) {
    AssignStep::Assignment assignment;
    assignment.symbol = symbols[i];
    const Node& operand = plan.graph.node(node.operands[i]);
    if (plan.of(node.operands[i]).place) {
      assignment.buffer = buffer_of(plan, node.operands[i]);
    } else {
      assignment.size = attr_of<SizeAttr>(operand).value;
    }
    step.assignments.push_back(std::move(assignment));
  }
  return step;
}

class SharedSymbols {
 public:
  explicit SharedSymbols(Program* program) : program_(*program), shared_(program->shared_symbols) {
    shared_.assign(program->graph.symbols.size(), false);
  }

  void run() {
    for (const Step& step : program_.steps) {
      if (const auto* nest = std::get_if<NestStep>(&step)) {
        if (!nest->is_inline) add_nest(nest->nest);
      } else if (const auto* call = std::get_if<ExternStep>(&step)) {
        for (const ValueRef& operand : call->operands) add(operand);
        for (const auto& [item, buffer] : call->items) {
          const Node& node = program_.graph.node(item);
          add(node.type.dims);
          add(attr_of<ExternItemAttr>(node).strides);
        }
      } else if (const auto* allocate = std::get_if<AllocateStep>(&step)) {
        add_buffer(allocate->buffer);
      }
    }
    for (const ValueRef& output : program_.outputs) add(output);
    for (const SizeGuard& guard : program_.graph.size_guards) {
      add(guard.left);
      add(guard.right);
    }
    for (size_t i = 0; i < shared_.size(); ++i) {
      shared_[i] = shared_[i] && program_.graph.symbols[i].kind == SymbolKind::kRun;
    }
  }

 private:
  void add(const SizeExpr& size) {
    std::vector<SymbolId> used;
    size.collect_symbols(&used);
    for (SymbolId id : used) shared_[static_cast<size_t>(id)] = true;
  }
  void add(const std::vector<SizeExpr>& sizes) {
    for (const SizeExpr& size : sizes) add(size);
  }
  void add_buffer(BufferId id) {
    const Buffer& buffer = program_.buffers[static_cast<size_t>(id)];
    add(buffer.dims);
    add(buffer.strides);
    add(buffer.bytes);
  }
  void add(const ValueRef& value) {
    add(value.offset);
    add(value.dims);
    add(value.strides);
    add(value.size);
    const bool is_array = value.kind == ValueRef::Kind::kBufferArray;
    if (is_array || value.kind == ValueRef::Kind::kView) add_buffer(value.buffer);
  }
  void add_access(const Access& access) {
    add(access.offset);
    for (const auto& [var, stride] : access.strides) add(stride);
    add_buffer(access.buffer);
  }
  void add_nest(const LoopNest& nest) {
    add(nest.work);
    for (const Loop& loop : nest.loops) add(loop.extent);
    for (const Store& store : nest.stores) add_access(store.access);
    for (const Value& value : nest.values) {
      add(value.size);
      if (value.kind == Value::Kind::kLoad) add_access(value.access);
      add(value.index_strides);
    }
  }

  const Program& program_;
  std::vector<bool>& shared_;
};

}  // namespace

Step make_control_step(const Plan& plan, NodeId id) {
  const Node& node = plan.graph.node(id);
  switch (node.op) {
    case Op::kLoop: {
      const auto& attr = attr_of<RegionAttr>(node);
      auto trips = attr.trips;
      if (plan.runs_once[index_of(id)]) trips = SizeExpr::min(*trips, 1);
      return LoopStep{id, attr.counter, std::move(trips), false};
    }
    case Op::kIf:
      return IfStep{id, buffer_of(plan, node.operands[0])};
    case Op::kElse:
      return ElseStep{};
    case Op::kBlock:
      return BlockStep{id};
    case Op::kEnd:
      return EndStep{};
    case Op::kBreak:
    case Op::kContinue:
      return JumpStep{node.operands[0], node.op == Op::kContinue};
    case Op::kAssign:
      return make_assign_step(plan, node);
    case Op::kResize:
      return AllocateStep{buffer_of(plan, id)};
    case Op::kCheck:
      return CheckStep{buffer_of(plan, node.operands[0])};
    default:
      break;
  }
  NUMLIFT_CHECK(false, "%{} is no control flow", index_of(id));
}

bool make_inline(const Plan& plan, NodeId loop_around, int inline_loops, LoopNest* nest) {
  if (!plan.regions.any()) return false;
  if (nest->loops.empty()) return true;
  if (inline_loops >= kMostInlineLoops) return false;
  for (const Store& store : nest->stores) {
    const Buffer& buffer = plan.buffers[static_cast<size_t>(store.access.buffer)];
    if (buffer.kind == Buffer::Kind::kPrivate &&
        buffer.bytes.constant().value_or(kMostPrivateStackBytes + 1) > kMostPrivateStackBytes)
      return false;
  }
  const int64_t work = plan.hint(nest->work * std::max(nest->cost, 1), kMostInlineWork + 1);
  if (loop_around == kNoNode || work > kMostInlineWork) return false;
  for (Loop& loop : nest->loops) loop.parallel = false;
  return true;
}

void mark_polls(Program* program) {
  walk_regions(program->steps, [&](size_t at, const std::vector<OpenRegion>& open) {
    auto* loop = std::get_if<LoopStep>(&program->steps[at]);
    if (loop == nullptr) return;
    bool is_outermost = true;
    for (const OpenRegion& region : open) {
      if (!region.is_loop) continue;
      std::get<LoopStep>(program->steps[region.begin]).polls = true;
      is_outermost = false;
    }
    loop->polls = is_outermost;
  });
}

void find_shared_symbols(Program* program) { SharedSymbols(program).run(); }

}  // namespace numlift::codegen
