// Memory of the finished program: what lives on the stack, what is allocated while the program
// runs, and which temporaries share a slot.
#include <algorithm>
#include <unordered_map>

#include "numlift/support/check.h"
#include "schedule/buffers.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace {

size_t index(BufferId id) { return static_cast<size_t>(id); }

bool is_late(const Program& program, const Buffer& buffer, const Regions& regions) {
  switch (buffer.kind) {
    case Buffer::Kind::kInput:
    case Buffer::Kind::kExtern:
    case Buffer::Kind::kPrivate:
    case Buffer::Kind::kLocal:
      return false;
    case Buffer::Kind::kArray:
      if (regions.loop_of(buffer.node) != kNoNode) return true;
      break;
    case Buffer::Kind::kScalar:
    case Buffer::Kind::kTemp:
      break;
  }
  std::vector<SymbolId> symbols;
  for (const SizeExpr& dim : buffer.dims) dim.collect_symbols(&symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId id) {
    const SymbolKind kind = program.graph.symbols[static_cast<size_t>(id)].kind;
    return kind == SymbolKind::kExternDim || kind == SymbolKind::kRun;
  });
}

}  // namespace

void make_local(Program* program) {
  std::vector<bool> is_outside(program->buffers.size(), false);
  for (Step& step : program->steps) {
    const auto* nest = std::get_if<NestStep>(&step);
    const bool is_opaque = std::holds_alternative<ExternStep>(step) ||
                           std::holds_alternative<NumpyLoopStep>(step) ||
                           (nest != nullptr && !nest->is_inline);
    if (is_opaque) for_each_buffer(&step, [&](BufferId& id) { is_outside[index(id)] = true; });
  }
  for (ValueRef& output : program->outputs) {
    if (mentions_buffer(output)) is_outside[index(output.buffer)] = true;
  }
  for (size_t i = 0; i < program->buffers.size(); ++i) {
    Buffer& buffer = program->buffers[i];
    if (buffer.kind == Buffer::Kind::kTemp && buffer.dims.empty() && !is_outside[i])
      buffer.kind = Buffer::Kind::kLocal;
  }
}

void add_late_allocations(Program* program, const Regions& regions) {
  program->allocate_late.clear();
  for (const Buffer& buffer : program->buffers)
    program->allocate_late.push_back(is_late(*program, buffer, regions));
  std::vector<bool> allocated(program->buffers.size(), false);
  std::vector<std::vector<BufferId>> before(program->steps.size());
  // In the region where the buffer is born: an inner one may be left, or run again.
  walk_regions(program->steps, [&](size_t at, const std::vector<OpenRegion>& open) {
    for_each_buffer(&program->steps[at], [&](BufferId& id) {
      if (!program->allocate_late[index(id)] || allocated[index(id)]) return;
      allocated[index(id)] = true;
      size_t place = at;
      for (const OpenRegion& region : open) {
        if (regions.is_inside(program->buffers[index(id)].node, region.node)) continue;
        place = region.begin;
        break;
      }
      before[place].push_back(id);
    });
  });
  std::vector<Step> steps;
  for (size_t at = 0; at < program->steps.size(); ++at) {
    for (BufferId id : before[at]) steps.push_back(AllocateStep{id});
    steps.push_back(std::move(program->steps[at]));
  }
  // An Empty that nothing touches but the caller.
  for (const ValueRef& output : program->outputs) {
    if (!mentions_buffer(output) || !program->allocate_late[index(output.buffer)]) continue;
    if (allocated[index(output.buffer)]) continue;
    allocated[index(output.buffer)] = true;
    steps.push_back(AllocateStep{output.buffer});
  }
  program->steps = std::move(steps);
}

// Linear scan over the steps; a slot is free again after the last step that mentions its buffer, or
// after the loop that a buffer from outside it is mentioned in.
void assign_temp_slots(Program* program, const Regions& regions) {
  struct Life {
    size_t first = 0, last = 0;
    bool any = false;
  };
  std::vector<Life> lives(program->buffers.size());
  walk_regions(program->steps, [&](size_t at, const std::vector<OpenRegion>& open) {
    for_each_buffer(&program->steps[at], [&](BufferId& id) {
      size_t first = at, last = at;
      for (const OpenRegion& region : open) {
        if (!region.is_loop || regions.is_inside(program->buffers[index(id)].node, region.node))
          continue;
        first = region.begin;
        last = region.end;
        break;
      }
      Life& life = lives[index(id)];
      if (!life.any) life = {first, last, true};
      life.first = std::min(life.first, first);
      life.last = std::max(life.last, last);
    });
  });
  std::vector<size_t> by_start;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (program->buffers[i].kind == Buffer::Kind::kTemp && lives[i].any) by_start.push_back(i);
  }
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  std::unordered_multimap<size_t, uint32_t> free;  // by hash of the size
  std::vector<std::pair<size_t, uint32_t>> busy;   // last step, slot; a heap, soonest first
  const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
  for (size_t i : by_start) {
    Buffer& buffer = program->buffers[i];
    while (!busy.empty() && busy.front().first < lives[i].first) {
      std::pop_heap(busy.begin(), busy.end(), later);
      const uint32_t slot = busy.back().second;
      free.emplace(program->temp_slot_bytes[slot].hash(), slot);
      busy.pop_back();
    }
    const bool is_grown = program->allocate_late[i];
    const bool is_alone = is_grown || buffer.moves;
    std::optional<uint32_t> found;
    auto [first, last] = free.equal_range(buffer.bytes.hash());
    for (auto at = first; at != last && !found && !is_alone; ++at) {
      if (!(program->temp_slot_bytes[at->second] == buffer.bytes)) continue;
      found = at->second;
      free.erase(at);
      break;
    }
    if (!found) {
      found = static_cast<uint32_t>(program->temp_slot_bytes.size());
      program->temp_slot_bytes.push_back(buffer.bytes);
      program->grown_slots.push_back(is_grown);
    }
    buffer.slot = *found;
    if (is_alone) continue;
    busy.emplace_back(lives[i].last, *found);
    std::push_heap(busy.begin(), busy.end(), later);
  }
}

}  // namespace numlift::codegen
