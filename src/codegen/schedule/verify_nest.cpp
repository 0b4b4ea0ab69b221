// One walk over the tree with what is in scope.
#include "schedule/verify_nest.h"

#include <algorithm>
#include <optional>

#include "numlift/support/check.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace {

class Verifier {
 public:
  Verifier(const LoopNest& nest, const std::vector<Buffer>& buffers)
      : nest_(nest),
        buffers_(buffers),
        is_known_(nest.values.size(), false),
        is_open_(nest.loops.size(), false),
        is_seen_(nest.loops.size(), false) {}

  std::string run() {
    walk(nest_.root, false, std::nullopt);
    return error_;
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    if (error_.empty()) error_ = fmt::format(text, std::forward<Args>(args)...);
  }

  void walk(const std::vector<Item>& body, bool in_vector, std::optional<uint32_t> loop) {
    std::vector<uint32_t> defined;
    auto define = [&](uint32_t id) {
      if (id >= nest_.values.size()) return fail("no value %{}", id);
      if (is_known_[id]) fail("%{} is defined twice", id);
      is_known_[id] = true;
      defined.push_back(id);
    };
    for (const Item& item : body) {
      switch (item.kind) {
        case Item::Kind::kValue:
          if (item.index < nest_.values.size()) check_value(item.index);
          define(item.index);
          break;
        case Item::Kind::kStore:
          check_store(item.index);
          break;
        case Item::Kind::kLoop:
          if (item.index >= nest_.loops.size()) return fail("no loop i{}", item.index);
          check_loop(item.index, in_vector, !loop);
          for (const Reduction& reduction : nest_.loops[item.index].reductions) {
            define(static_cast<uint32_t>(reduction.result));
          }
          break;
      }
    }
    if (loop) check_operands(*loop);
    // Values of a body are not seen outside it.
    for (uint32_t id : defined) is_known_[id] = false;
  }

  void check_use(ValueId id, std::string_view user) {
    const size_t at = static_cast<size_t>(id);
    if (at >= is_known_.size() || !is_known_[at]) fail("{} uses %{}, not defined there", user, at);
  }

  void check_access(const Access& access, std::string_view user) {
    if (static_cast<size_t>(access.buffer) >= buffers_.size()) {
      fail("{} names no buffer: b{}", user, static_cast<size_t>(access.buffer));
    }
    for (const auto& [var, stride] : access.strides) {
      if (!is_open(var)) fail("{} uses i{} outside its loop", user, static_cast<size_t>(var));
      if (stride.constant() == 0) fail("{} has a zero stride", user);
    }
  }
  bool is_open(VarId var) const {
    return static_cast<size_t>(var) < is_open_.size() && is_open_[static_cast<size_t>(var)];
  }

  void check_value(uint32_t id) {
    const Value& value = nest_.values[id];
    const std::string user = fmt::format("%{}", id);
    for (ValueId operand : value.operands) check_use(operand, user);
    if (value.kind == Value::Kind::kLoad) {
      check_access(value.access, user);
      if (value.index_strides.size() != value.operands.size())
        fail("{}: {} indices with {} strides", user, value.operands.size(),
             value.index_strides.size());
    }
    if (value.kind == Value::Kind::kIndex && !is_open(value.var)) {
      fail("{} is the index of a closed loop", user);
    }
    if (value.kind == Value::Kind::kReduction) fail("{} is a reduction outside its loop", user);
    if (value.kind == Value::Kind::kOp &&
        static_cast<int>(value.operands.size()) != op_info(value.op).arity) {
      fail("{}: {} operands for {}", user, value.operands.size(), op_info(value.op).text);
    }
  }

  void check_store(uint32_t id) {
    if (id >= nest_.stores.size()) return fail("no store {}", id);
    const std::string user = fmt::format("store {}", id);
    check_use(nest_.stores[id].value, user);
    check_access(nest_.stores[id].access, user);
  }

  void check_loop(uint32_t id, bool in_vector, bool is_root) {
    const Loop& loop = nest_.loops[id];
    if (is_seen_[id]) fail("i{} occurs twice", id);
    is_seen_[id] = true;
    if (loop.vector && in_vector) fail("i{} is a vector loop inside another", id);
    if (loop.parallel && !is_root) fail("i{} is parallel but no root loop", id);
    if (loop.in_order && (loop.parallel || loop.vector || loop.reduction))
      fail("i{} runs in order and not in order", id);
    if (!loop.reductions.empty() && !loop.reduction) fail("i{} carries an unmarked reduction", id);
    is_open_[id] = true;
    for (const Reduction& reduction : loop.reductions) {
      if (reduction.loops.empty() || reduction.loops[0] != VarId{id}) {
        return fail("a reduction of i{} does not start there", id);
      }
      open_.push_back(&reduction);
    }
    walk(loop.body, in_vector || loop.vector, id);
    open_.resize(open_.size() - loop.reductions.size());
    is_open_[id] = false;
  }

  // At the end of the innermost of its loops, a reduction's operand is known.
  void check_operands(uint32_t id) {
    for (const Reduction* reduction : open_) {
      if (reduction->loops.back() != VarId{id}) continue;
      check_use(reduction->operand, "a reduction");
      if (reduction->position != kNoValue) check_use(reduction->position, "a reduction");
    }
  }

  const LoopNest& nest_;
  const std::vector<Buffer>& buffers_;
  std::vector<bool> is_known_, is_open_, is_seen_;
  std::vector<const Reduction*> open_;
  std::string error_;
};

// Regions are closed in order, jumps leave open ones, steering values are scalars.
std::string verify_steps(const Program& program) {
  std::vector<const Step*> open;
  const auto is_scalar = [&](BufferId id, DType dtype) {
    const auto at = static_cast<size_t>(id);
    return at < program.buffers.size() && program.buffers[at].dims.empty() &&
           program.buffers[at].dtype == dtype;
  };
  for (const Step& step : program.steps) {
    if (begun_by(step) != kNoNode) open.push_back(&step);
    const bool closes = std::holds_alternative<EndStep>(step);
    if (closes || std::holds_alternative<ElseStep>(step)) {
      if (open.empty()) return "an end or else without its begin";
      if (!closes && !std::holds_alternative<IfStep>(*open.back())) return "an else without its if";
      if (closes) open.pop_back();
    }
    if (const auto* branch = std::get_if<IfStep>(&step)) {
      if (!is_scalar(branch->condition, DType::kBool)) return "an if of no bool";
    } else if (const auto* check = std::get_if<CheckStep>(&step)) {
      if (!is_scalar(check->condition, DType::kBool)) return "a check of no bool";
    } else if (const auto* assign = std::get_if<AssignStep>(&step)) {
      for (const AssignStep::Assignment& one : assign->assignments)
        if (one.buffer && !is_scalar(*one.buffer, DType::kInt64)) return "a symbol of no int64";
    } else if (const auto* jump = std::get_if<JumpStep>(&step)) {
      const auto is_target = [&](const Step* begin) {
        return begun_by(*begin) == jump->target && !std::holds_alternative<IfStep>(*begin) &&
               (!jump->again || std::holds_alternative<LoopStep>(*begin));
      };
      if (std::none_of(open.begin(), open.end(), is_target))
        return fmt::format("a jump to %{}, which cannot be left so", index_of(jump->target));
    } else if (const auto* nest = std::get_if<NestStep>(&step); nest && nest->is_inline) {
      for (const Loop& loop : nest->nest.loops)
        if (loop.parallel) return "an inline nest with a parallel loop";
    }
  }
  return open.empty() ? "" : "a region without an end";
}

}  // namespace

std::string verify_nest(const LoopNest& nest, const std::vector<Buffer>& buffers) {
  return Verifier(nest, buffers).run();
}

void check_nests_verified(const Program& program) {
  const std::string broken = verify_steps(program);
  NUMLIFT_CHECK(broken.empty(), "{}", broken);
  for (const Step& step : program.steps) {
    const auto* nest_step = std::get_if<NestStep>(&step);
    if (nest_step == nullptr) continue;
    const std::string error = verify_nest(nest_step->nest, program.buffers);
    NUMLIFT_CHECK(error.empty(), "{} in\n{}", error, nest_text(nest_step->nest, program.graph));
  }
}

}  // namespace numlift::codegen
