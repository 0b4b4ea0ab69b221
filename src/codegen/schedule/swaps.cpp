// x = y at the end of an iteration, where x is an array that lives across iterations and y was made
// in this one: their memory changes hands instead of the elements.
#include <algorithm>

#include "schedule/affine.h"
#include "schedule/buffers.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace {

struct WholeCopy {
  BufferId from{}, to{};
};

bool same_places(const Access& a, const Access& b) {
  return is_zero(a.offset) && is_zero(b.offset) && a.strides == b.strides;
}

// The loops, one inside the other, walk over every element of the buffer once.
bool walks_over_all(const LoopNest& nest, const Access& access, const Buffer& buffer) {
  SizeExpr count = 1;
  SizeExpr stride = item_size(buffer.dtype);
  std::vector<const Loop*> chain;
  for (const std::vector<Item>* body = &nest.root; !body->empty();) {
    const auto loop = std::find_if(body->begin(), body->end(),
                                   [](const Item& item) { return item.kind == Item::Kind::kLoop; });
    if (loop == body->end()) break;
    chain.push_back(&nest.loops[loop->index]);
    body = &nest.loops[loop->index].body;
  }
  if (chain.size() != nest.loops.size() || access.strides.size() != chain.size()) return false;
  // Innermost first: each loop steps over all that the ones inside it cover.
  for (size_t i = chain.size(); i > 0; --i) {
    const auto var = static_cast<size_t>(chain[i - 1] - nest.loops.data());
    const auto at = std::find_if(access.strides.begin(), access.strides.end(), [&](const auto& s) {
      return static_cast<size_t>(s.first) == var;
    });
    if (at == access.strides.end() || !(at->second == stride)) return false;
    stride = stride * chain[i - 1]->extent;
    count = count * chain[i - 1]->extent;
  }
  return count == product(buffer.dims);
}

std::optional<WholeCopy> whole_copy(const Program& program, const Step& step) {
  const auto* nest_step = std::get_if<NestStep>(&step);
  if (nest_step == nullptr) return std::nullopt;
  const LoopNest& nest = nest_step->nest;
  if (nest.values.size() != 1 || nest.stores.size() != 1 || nest.loops.empty() ||
      nest.values[0].kind != Value::Kind::kLoad || !nest.values[0].operands.empty())
    return std::nullopt;
  const Access& read = nest.values[0].access;
  const Access& written = nest.stores[0].access;
  const Buffer& from = program.buffers[static_cast<size_t>(read.buffer)];
  const Buffer& to = program.buffers[static_cast<size_t>(written.buffer)];
  if (from.dtype != to.dtype || from.dims != to.dims || from.strides != to.strides ||
      !same_places(read, written) || !walks_over_all(nest, read, from))
    return std::nullopt;
  return WholeCopy{read.buffer, written.buffer};
}

class Swapper {
 public:
  Swapper(Program* program, const Regions& regions)
      : program_(*program), regions_(regions), last_(program->buffers.size(), 0) {}

  void run() {
    for (size_t at = 0; at < program_.steps.size(); ++at)
      for_each_buffer(&program_.steps[at],
                      [&](BufferId& id) { last_[static_cast<size_t>(id)] = at; });
    is_outside_.assign(program_.buffers.size(), false);
    for (Step& step : program_.steps) {
      if (std::holds_alternative<ExternStep>(step))
        for_each_buffer(&step, [&](BufferId& id) { is_outside_[static_cast<size_t>(id)] = true; });
    }
    walk_regions(program_.steps, [&](size_t at, const std::vector<OpenRegion>& open) {
      const auto loop = std::find_if(open.rbegin(), open.rend(),
                                     [](const OpenRegion& region) { return region.is_loop; });
      if (loop != open.rend()) visit(at, *loop);
    });
  }

 private:
  void visit(size_t at, const OpenRegion& loop) {
    const auto copy = whole_copy(program_, program_.steps[at]);
    if (!copy) return;
    Buffer& from = program_.buffers[static_cast<size_t>(copy->from)];
    Buffer& to = program_.buffers[static_cast<size_t>(copy->to)];
    // Born anew in each iteration, and not looked at again in this one.
    const bool is_done = from.kind == Buffer::Kind::kTemp &&
                         regions_.loop_of(from.node) == loop.node &&
                         last_[static_cast<size_t>(copy->from)] == at;
    if (!is_done || !may_move(copy->from) || !may_move(copy->to)) return;
    from.moves = to.moves = true;
    program_.steps[at] = SwapStep{copy->from, copy->to};
  }

  bool may_move(BufferId id) const {
    const Buffer& buffer = program_.buffers[static_cast<size_t>(id)];
    return (buffer.kind == Buffer::Kind::kTemp || buffer.kind == Buffer::Kind::kArray) &&
           !program_.allocate_late[static_cast<size_t>(id)] &&
           !is_outside_[static_cast<size_t>(id)];
  }

  Program& program_;
  const Regions& regions_;
  std::vector<size_t> last_;  // by buffer: the last step that mentions it
  std::vector<bool> is_outside_;
};

}  // namespace

void swap_for_copies(Program* program, const Regions& regions) {
  if (regions.any()) Swapper(program, regions).run();
}

}  // namespace numlift::codegen
