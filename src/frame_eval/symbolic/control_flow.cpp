// Post-dominators by the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm" (2001), on the reversed graph.
#include "symbolic/control_flow.h"

#include <algorithm>

#include "cpython/flow.h"

namespace numlift::frame_eval {
namespace {

bool returns(const Instruction& instruction) {
  return instruction.op == Instr::kReturnValue || instruction.op == Instr::kReturnConst;
}

std::vector<size_t> successors(const Bytecode& bytecode, size_t index) {
  const Instruction& instruction = bytecode.instructions[index];
  std::vector<size_t> next;
  if (falls_through(instruction) && index + 1 < bytecode.instructions.size())
    next.push_back(index + 1);
  if (instruction.target != kNoTarget && instruction.op != Instr::kEndAsyncFor)
    next.push_back(static_cast<size_t>(instruction.target));
  return next;
}

// The sources of the jumps back to `head`.
std::vector<size_t> back_edges(const Bytecode& bytecode, size_t head) {
  std::vector<size_t> sources;
  for (size_t i = head; i < bytecode.instructions.size(); ++i) {
    const auto next = successors(bytecode, i);
    if (i != head && std::find(next.begin(), next.end(), head) != next.end()) sources.push_back(i);
  }
  return sources;
}

}  // namespace

Paths::Paths(const Bytecode& bytecode, std::vector<bool> inside, size_t head)
    : inside_(std::move(inside)), rank_(inside_.size(), -1), immediate_(inside_.size(), kSink) {
  const size_t count = inside_.size();
  // Edges within the part; those to the sink have the number `count`.
  std::vector<std::vector<size_t>> next(count), before(count + 1);
  for (size_t i = 0; i < count; ++i) {
    if (!inside_[i]) continue;
    if (head == kSink && returns(bytecode.instructions[i])) next[i].push_back(count);
    for (size_t to : successors(bytecode, i)) {
      if (to == head) to = count;
      if (to == count || inside_[to]) next[i].push_back(to);
    }
    for (size_t to : next[i]) before[to].push_back(i);
  }
  // Post-order of the reversed graph from the sink.
  std::vector<size_t> order;
  std::vector<bool> seen(count + 1, false);
  std::vector<std::pair<size_t, size_t>> pending{{count, 0}};
  seen[count] = true;
  while (!pending.empty()) {
    auto& [node, edge] = pending.back();
    if (edge < before[node].size()) {
      const size_t to = before[node][edge++];
      if (!seen[to]) {
        seen[to] = true;
        pending.emplace_back(to, 0);
      }
      continue;
    }
    if (node != count) {
      rank_[node] = static_cast<int>(order.size());
      order.push_back(node);
    }
    pending.pop_back();
  }
  const int sink_rank = static_cast<int>(order.size());
  const auto rank = [&](size_t node) { return node == count ? sink_rank : rank_[node]; };
  std::vector<size_t> found(count + 1, kSink);  // kSink: not known yet
  found[count] = count;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = order.size(); k-- > 0;) {
      const size_t node = order[k];
      size_t nearest = kSink;
      for (size_t to : next[node]) {
        if ((to != count && rank_[to] < 0) || found[to] == kSink) continue;
        if (nearest == kSink) {
          nearest = to;
          continue;
        }
        size_t other = to;
        while (nearest != other) {
          while (rank(nearest) < rank(other)) nearest = found[nearest];
          while (rank(other) < rank(nearest)) other = found[other];
        }
      }
      if (nearest != found[node]) {
        found[node] = nearest;
        changed = true;
      }
    }
  }
  for (size_t i = 0; i < count; ++i) immediate_[i] = found[i] == count ? kSink : found[i];
}

Paths Paths::of_function(const Bytecode& bytecode) {
  return Paths(bytecode, std::vector<bool>(bytecode.instructions.size(), true), kSink);
}

std::optional<Paths> Paths::of_loop(const Bytecode& bytecode, size_t head) {
  std::vector<size_t> pending = back_edges(bytecode, head);
  if (pending.empty()) return std::nullopt;
  const size_t count = bytecode.instructions.size();
  std::vector<std::vector<size_t>> before(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t to : successors(bytecode, i)) before[to].push_back(i);
  }
  std::vector<bool> inside(count, false);
  inside[head] = true;
  while (!pending.empty()) {
    const size_t node = pending.back();
    pending.pop_back();
    if (inside[node]) continue;
    inside[node] = true;
    // A path into the middle: no natural loop.
    if (node < head) return std::nullopt;
    for (size_t from : before[node]) pending.push_back(from);
  }
  return Paths(bytecode, std::move(inside), head);
}

size_t Paths::meeting(size_t index) const { return immediate_[index]; }

size_t Paths::meeting_outside(size_t from, const Paths& inner) const {
  size_t at = from;
  while (at != kSink && inner.contains(at)) at = rank_[at] < 0 ? kSink : immediate_[at];
  return at;
}

bool begins_while_loop(const Bytecode& bytecode, size_t index) {
  return bytecode.instructions[index].op != Instr::kForIter &&
         bytecode.instructions[index].op != Instr::kSend && !back_edges(bytecode, index).empty();
}

std::optional<size_t> innermost_loop(const Bytecode& bytecode, size_t index) {
  for (size_t head = index + 1; head-- > 0;) {
    if (back_edges(bytecode, head).empty()) continue;
    const auto loop = Paths::of_loop(bytecode, head);
    if (loop && loop->contains(index)) return head;
  }
  return std::nullopt;
}

std::optional<size_t> innermost_while_loop(const Bytecode& bytecode, size_t index) {
  const auto head = innermost_loop(bytecode, index);
  return head && begins_while_loop(bytecode, *head) ? head : std::nullopt;
}

}  // namespace numlift::frame_eval
