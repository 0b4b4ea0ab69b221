// Abstract interpretation to a fixed point; states are kept where paths meet only.
//
// A comprehension saves a local with LoadFastAndClear and restores it with StoreFast, where the
// value saved may be NULL. So that such a store does not count as setting the slot, the state also
// knows which stack positions may hold NULL: only Swap and Copy move such a value.
#include "numlift/py/python.h"

#include "cpython/flow.h"

#include <algorithm>

#include "cpython/code_object.h"
#include "cpython/opcode_table.h"
#include "numlift/support/check.h"

namespace numlift {
namespace {

using Word = uint64_t;
constexpr int kWordBits = 64;

struct State {
  int depth = -1;  // -1: no path has come here yet
  Word nulls = 0;  // stack positions that may hold NULL; those from kWordBits on always may
  std::vector<Word> set;

  bool is_set(int32_t slot) const {
    return (set[static_cast<size_t>(slot / kWordBits)] >> (slot % kWordBits) & 1) != 0;
  }
  void mark_set(int32_t slot, bool value) {
    const Word bit = Word{1} << (slot % kWordBits);
    Word& word = set[static_cast<size_t>(slot / kWordBits)];
    word = value ? word | bit : word & ~bit;
  }
  bool may_be_null(int position) const {
    return position >= kWordBits || (nulls >> position & 1) != 0;
  }
  void mark_null(int position, bool value) {
    if (position >= kWordBits) return;
    const Word bit = Word{1} << position;
    nulls = value ? nulls | bit : nulls & ~bit;
  }
  void resize(int new_depth) {
    depth = new_depth;
    if (depth < kWordBits) nulls &= (Word{1} << depth) - 1;
  }
};

class Analysis {
 public:
  explicit Analysis(const Bytecode& bytecode)
      : bytecode_(bytecode), state_at_(bytecode.instructions.size(), -1) {
    flow_.may_be_unset.assign(size(), 0);
    flow_.is_entered.assign(size(), 0);
  }

  Flow run() {
    NUMLIFT_CHECK(size() > 0, "a bytecode has no instruction");
    for (const Instruction& instruction : bytecode_.instructions) {
      if (instruction.target != kNoTarget) enter(instruction.target);
      if (instruction.handler != kNoTarget) enter(handler(instruction).target);
    }
    State start;
    start.depth = 0;
    start.set.assign(static_cast<size_t>(bytecode_.nslots / kWordBits + 1), 0);
    const int arguments = argument_slots(as_code(bytecode_.code));
    for (int slot = 0; slot < arguments; ++slot) start.mark_set(slot, true);
    add_state(0);
    meet(0, start);
    while (!pending_.empty()) {
      const int32_t index = pending_.back();
      pending_.pop_back();
      walk(index);
    }
    return std::move(flow_);
  }

 private:
  size_t size() const { return bytecode_.instructions.size(); }
  const Handler& handler(const Instruction& instruction) const {
    return bytecode_.handlers.at(static_cast<size_t>(instruction.handler));
  }
  void add_state(int32_t index) {
    NUMLIFT_CHECK(index >= 0 && static_cast<size_t>(index) < size(), "target {} of {}", index,
                  size());
    int32_t& state = state_at_[static_cast<size_t>(index)];
    if (state >= 0) return;
    state = static_cast<int32_t>(states_.size());
    states_.emplace_back();
  }
  void enter(int32_t index) {
    add_state(index);
    flow_.is_entered[static_cast<size_t>(index)] = 1;
  }

  void meet(int32_t index, const State& from);
  void walk(int32_t start);
  void step(size_t index, State& state);

  const Bytecode& bytecode_;
  Flow flow_;
  std::vector<int32_t> state_at_;  // by instruction: index into states_, or -1
  std::vector<State> states_;
  std::vector<int32_t> pending_;
};

void Analysis::meet(int32_t index, const State& from) {
  flow_.max_depth = std::max(flow_.max_depth, from.depth);
  State& state = states_[static_cast<size_t>(state_at_[static_cast<size_t>(index)])];
  bool changed = state.depth < 0;
  if (changed) {
    state = from;
  } else {
    NUMLIFT_CHECK(state.depth == from.depth, "instruction {} is entered with {} and with {} values",
                  index, state.depth, from.depth);
    changed = (from.nulls & ~state.nulls) != 0;
    state.nulls |= from.nulls;
    for (size_t i = 0; i < state.set.size(); ++i) {
      changed |= (state.set[i] & ~from.set[i]) != 0;
      state.set[i] &= from.set[i];
    }
  }
  if (changed) pending_.push_back(index);
}

void Analysis::walk(int32_t start) {
  State state = states_[static_cast<size_t>(state_at_[static_cast<size_t>(start)])];
  for (auto i = static_cast<size_t>(start);; ++i) {
    NUMLIFT_CHECK(i < size(), "the code runs over its end");
    const auto index = static_cast<int32_t>(i);
    if (index != start && state_at_[i] >= 0) {
      meet(index, state);
      return;
    }
    const Instruction& instruction = bytecode_.instructions[i];
    if (instruction.handler != kNoTarget) {
      const Handler& to = handler(instruction);
      NUMLIFT_CHECK(to.depth <= state.depth, "instruction {}: its handler keeps {} of {} values", i,
                    to.depth, state.depth);
      State raised = state;
      raised.resize(to.depth);
      raised.depth += to.push_lasti ? 2 : 1;
      meet(to.target, raised);
    }
    if (instruction.target != kNoTarget && instruction.op != Instr::kEndAsyncFor) {
      State jumped = state;
      const int depth = state.depth + stack_effect(instruction, true);
      NUMLIFT_CHECK(depth >= 0, "the stack underflows at instruction {}", i);
      jumped.resize(depth);
      meet(instruction.target, jumped);
    }
    if (instruction.op == Instr::kReturnConst && kReturnConstPushes) {
      flow_.max_depth = std::max(flow_.max_depth, state.depth + 1);
    }
    if (!falls_through(instruction)) return;
    step(i, state);
  }
}

void Analysis::step(size_t index, State& state) {
  const Instruction& instruction = bytecode_.instructions[index];
  const int depth = state.depth;
  const int32_t slot = instruction.arg;
  const int new_depth = depth + stack_effect(instruction, false);
  NUMLIFT_CHECK(new_depth >= 0, "the stack underflows at instruction {}", index);
  bool pushes_null = false;
  if (instruction.op == Instr::kLoadFast) {
    if (!state.is_set(slot)) flow_.may_be_unset[index] = 1;
    state.mark_set(slot, true);
  } else if (instruction.op == Instr::kLoadFastAndClear) {
    pushes_null = !state.is_set(slot);
    state.mark_set(slot, false);
  } else if (instruction.op == Instr::kStoreFast) {
    NUMLIFT_CHECK(depth > 0, "the stack underflows at instruction {}", index);
    state.mark_set(slot, !state.may_be_null(depth - 1));
  } else if (instruction.op == Instr::kDeleteFast) {
    state.mark_set(slot, false);
  } else if (instruction.op == Instr::kMakeCell) {
    state.mark_set(slot, true);
  } else if (instruction.op == Instr::kSwap || instruction.op == Instr::kCopy) {
    const int other = depth - instruction.arg;
    NUMLIFT_CHECK(other >= 0, "the stack underflows at instruction {}", index);
    const bool other_null = state.may_be_null(other);
    if (instruction.op == Instr::kSwap) {
      state.mark_null(other, state.may_be_null(depth - 1));
      state.mark_null(depth - 1, other_null);
    } else {
      pushes_null = other_null;
    }
  }
  state.resize(new_depth);
  if (pushes_null) state.mark_null(depth, true);
  flow_.max_depth = std::max(flow_.max_depth, new_depth);
}

}  // namespace

bool falls_through(const Instruction& instruction) {
  const Instr op = instruction.op;
  return op != Instr::kJump && op != Instr::kReturnValue && op != Instr::kReturnConst &&
         op != Instr::kRaiseVarargs && op != Instr::kReraise;
}

Flow analyse_flow(const Bytecode& bytecode) { return Analysis(bytecode).run(); }

}  // namespace numlift
