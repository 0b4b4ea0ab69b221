// Where the paths through a function's bytecode part and meet.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "numlift/frame_eval/bytecode.h"

namespace numlift::frame_eval {

// A place no instruction stands at: behind the function's returns, or a loop's next iteration.
inline constexpr size_t kSink = ~size_t{0};

// Part of a function: the whole, or the body of a natural loop with its head. Instructions that
// handlers alone lead to belong to neither.
class Paths {
 public:
  Paths() = default;  // no instruction
  // The whole function; the sink is its return.
  static Paths of_function(const Bytecode& bytecode);
  // The natural loop of `head`; the sink is the way back to the head. nullopt: none begins there.
  static std::optional<Paths> of_loop(const Bytecode& bytecode, size_t head);

  bool contains(size_t index) const { return index < inside_.size() && inside_[index]; }
  // Some path from here leads to the sink within the part.
  bool reaches_sink(size_t index) const { return contains(index) && rank_[index] >= 0; }
  // The nearest place that all paths from here to the sink come through, the place itself not
  // counted.
  size_t meeting(size_t index) const;
  // The same outside of a part of this one, of the paths from `from` in it.
  size_t meeting_outside(size_t from, const Paths& inner) const;

 private:
  Paths(const Bytecode& bytecode, std::vector<bool> inside, size_t head);

  std::vector<bool> inside_;
  std::vector<int> rank_;          // by instruction: in post-order from the sink; -1: no way there
  std::vector<size_t> immediate_;  // by instruction: its immediate post-dominator
};

// Instructions that some later one jumps back to, and that are no ForIter.
bool begins_while_loop(const Bytecode& bytecode, size_t index);
// The head of the innermost loop that the instruction belongs to.
std::optional<size_t> innermost_loop(const Bytecode& bytecode, size_t index);
// The head of the innermost while loop that the instruction belongs to.
std::optional<size_t> innermost_while_loop(const Bytecode& bytecode, size_t index);

}  // namespace numlift::frame_eval
