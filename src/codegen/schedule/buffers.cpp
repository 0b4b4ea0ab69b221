// Temporaries: dropped, made private to an iteration, or given slots by liveness.
#include "schedule/buffers.h"

#include <algorithm>

#include "numlift/support/check.h"

namespace numlift::codegen {
namespace {

size_t index(BufferId id) { return static_cast<size_t>(id); }

// Every access to one temporary.
struct Uses {
  struct Touch {
    Access* access;
    const Footprint* footprint;
  };
  std::vector<Touch> loads, stores;
  size_t step = 0;
  bool in_one_nest = true;
};

std::vector<Uses> find_uses(const Plan& plan, const std::vector<Task>& tasks,
                            std::vector<RawStep>* steps) {
  std::vector<Uses> uses(plan.buffers.size());
  std::vector<bool> seen(plan.buffers.size(), false);
  size_t at = 0;
  auto touch = [&](BufferId buffer) -> Uses& {
    Uses& result = uses[index(buffer)];
    if (seen[index(buffer)] && result.step != at) result.in_one_nest = false;
    seen[index(buffer)] = true;
    result.step = at;
    return result;
  };
  for (RawStep& step : *steps) {
    if (const TaskId* opaque = std::get_if<TaskId>(&step)) {
      const Task& task = tasks[static_cast<size_t>(*opaque)];
      for (const TaskLoad& load : task.loads) {
        Uses& buffer = touch(load.footprint.buffer);
        buffer.loads.push_back({nullptr, &load.footprint});
        buffer.in_one_nest = false;
      }
      if (task.store_access) touch(task.store_footprint.buffer).in_one_nest = false;
    } else if (const NodeId* control = std::get_if<NodeId>(&step)) {
      for (NodeId operand : plan.graph.node(*control).operands) {
        if (!plan.of(operand).place) continue;
        Uses& buffer = touch(plan.of(operand).place->buffer);
        buffer.loads.push_back({nullptr, nullptr});
        buffer.in_one_nest = false;
      }
    } else {
      RawNest& raw = std::get<RawNest>(step);
      for (size_t i = 0; i < raw.nest.values.size(); ++i) {
        Value& value = raw.nest.values[i];
        if (value.kind != Value::Kind::kLoad) continue;
        touch(value.access.buffer).loads.push_back({&value.access, &raw.load_footprints[i]});
      }
      for (size_t i = 0; i < raw.nest.stores.size(); ++i) {
        Store& store = raw.nest.stores[i];
        if (store.value == kNoValue) continue;
        touch(store.access.buffer).stores.push_back({&store.access, &raw.store_footprints[i]});
      }
    }
    ++at;
  }
  return uses;
}

// ---- private parts ----

// The loop whose variable alone indexes the axis in all accesses, always in the same way.
std::optional<uint32_t> common_loop(const Uses& uses, size_t axis) {
  const std::optional<Affine>& first = uses.stores[0].footprint->index[axis];
  if (!first || first->terms.size() != 1) return std::nullopt;
  for (const auto* touches : {&uses.loads, &uses.stores}) {
    for (const Uses::Touch& touch : *touches) {
      if (touch.footprint->index[axis] != first) return std::nullopt;
    }
  }
  return first->terms[0].first;
}

bool is_root_loop(const LoopNest& nest, uint32_t var) {
  return std::any_of(nest.root.begin(), nest.root.end(), [&](const Item& item) {
    return item.kind == Item::Kind::kLoop && item.index == var;
  });
}

// The access that a footprint stands for, if it names all axes.
std::optional<Affine> bytes_of(const Footprint& footprint, const std::vector<SizeExpr>& strides) {
  Affine bytes;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (!footprint.index[axis]) return std::nullopt;
    bytes.add(*footprint.index[axis], strides[axis]);
  }
  return bytes;
}

bool is_same(const Affine& bytes, const Access& access) {
  if (!(bytes.offset == access.offset) || bytes.terms.size() != access.strides.size()) return false;
  for (size_t i = 0; i < bytes.terms.size(); ++i) {
    if (bytes.terms[i].first != static_cast<uint32_t>(access.strides[i].first) ||
        !(bytes.terms[i].second == access.strides[i].second)) {
      return false;
    }
  }
  return true;
}

void try_private(Buffer* buffer, const Uses& uses, RawNest* raw) {
  std::vector<uint32_t> loops;
  std::vector<SizeExpr> dims;
  std::vector<bool> dropped;
  bool has_root = false;
  for (size_t axis = 0; axis < buffer->dims.size(); ++axis) {
    const auto loop = common_loop(uses, axis);
    dropped.push_back(loop.has_value());
    if (!loop) {
      dims.push_back(buffer->dims[axis]);
      continue;
    }
    loops.push_back(*loop);
    has_root = has_root || is_root_loop(raw->nest, *loop);
  }
  if (!has_root) return;
  for (const auto* touches : {&uses.loads, &uses.stores}) {
    for (const Uses::Touch& touch : *touches) {
      const auto bytes = bytes_of(*touch.footprint, buffer->strides);
      if (!bytes || !is_same(*bytes, *touch.access)) return;
    }
  }
  std::vector<SizeExpr> strides(buffer->dims.size());
  const std::vector<SizeExpr> kept_strides = contiguous_strides(dims, {}, item_size(buffer->dtype));
  for (size_t axis = 0, kept = 0; axis < strides.size(); ++axis) {
    if (!dropped[axis]) strides[axis] = kept_strides[kept++];
  }
  for (const auto* touches : {&uses.loads, &uses.stores}) {
    for (const Uses::Touch& touch : *touches) {
      Affine bytes = *bytes_of(*touch.footprint, strides);
      touch.access->offset = std::move(bytes.offset);
      touch.access->strides.clear();
      for (auto& [var, stride] : bytes.terms) {
        touch.access->strides.emplace_back(VarId{var}, stride);
      }
    }
  }
  for (uint32_t loop : loops) raw->holds_private[loop] = true;
  buffer->kind = Buffer::Kind::kPrivate;
  buffer->dims = dims;
  buffer->strides = kept_strides;
  buffer->bytes = product(dims) * item_size(buffer->dtype);
}

void drop_items(const std::vector<Store>& stores, std::vector<Item>* body) {
  std::erase_if(*body, [&](const Item& item) {
    return item.kind == Item::Kind::kStore && stores[item.index].value == kNoValue;
  });
}

}  // namespace

void drop_unread_stores(const Plan& plan, const std::vector<Task>& tasks,
                        std::vector<RawStep>* steps) {
  const std::vector<Uses> uses = find_uses(plan, tasks, steps);
  for (RawStep& step : *steps) {
    RawNest* raw = std::get_if<RawNest>(&step);
    if (raw == nullptr) continue;
    bool any = false;
    for (Store& store : raw->nest.stores) {
      const size_t buffer = index(store.access.buffer);
      if (plan.buffers[buffer].kind != Buffer::Kind::kTemp || !uses[buffer].loads.empty()) continue;
      store.value = kNoValue;
      any = true;
    }
    if (!any) continue;
    drop_items(raw->nest.stores, &raw->nest.root);
    for (Loop& loop : raw->nest.loops) drop_items(raw->nest.stores, &loop.body);
  }
}

void make_private(Plan* plan, const std::vector<Task>& tasks, const std::vector<NodeId>& loops,
                  std::vector<RawStep>* steps) {
  const std::vector<Uses> uses = find_uses(*plan, tasks, steps);
  for (size_t i = 0; i < plan->buffers.size(); ++i) {
    Buffer& buffer = plan->buffers[i];
    if (buffer.kind != Buffer::Kind::kTemp || !uses[i].in_one_nest || uses[i].stores.empty()) {
      continue;
    }
    // What a later iteration reads is not private to this one.
    if (plan->regions.loop_of(buffer.node) != loops[uses[i].step]) continue;
    try_private(&buffer, uses[i], &std::get<RawNest>((*steps)[uses[i].step]));
  }
}

void drop_unused_buffers(Program* program) {
  std::vector<bool> used(program->buffers.size(), false);
  auto use = [&](BufferId& id) { used[index(id)] = true; };
  for (Step& step : program->steps) for_each_buffer(&step, use);
  for (ValueRef& output : program->outputs) {
    if (mentions_buffer(output)) use(output.buffer);
  }
  std::vector<BufferId> renamed(used.size());
  std::vector<Buffer> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    renamed[i] = BufferId{static_cast<uint32_t>(kept.size())};
    kept.push_back(std::move(program->buffers[i]));
  }
  program->buffers = std::move(kept);
  auto rename = [&](BufferId& id) { id = renamed[index(id)]; };
  for (Step& step : program->steps) for_each_buffer(&step, rename);
  for (ValueRef& output : program->outputs) {
    if (mentions_buffer(output)) rename(output.buffer);
  }
}

}  // namespace numlift::codegen
