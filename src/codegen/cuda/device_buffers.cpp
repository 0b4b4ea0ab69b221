#include "device_buffers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "numlift/support/check.h"

namespace numlift::codegen::cuda {
namespace {

// dims and strides in bytes, outermost first: every element from a dense copy of the whole extent.
void copy_elements(char* to, const char* from, std::span<const int64_t> dims,
                   std::span<const int64_t> strides, size_t item_bytes) {
  if (dims.empty()) {
    std::memcpy(to, from, item_bytes);
    return;
  }
  for (int64_t i = 0; i < dims[0]; ++i)
    copy_elements(to + i * strides[0], from + i * strides[0], dims.subspan(1), strides.subspan(1),
                  item_bytes);
}

}  // namespace

DeviceBuffers::DeviceBuffers(Device& device, const Program& program, ProgramFrame* frame)
    : device_(device),
      program_(program),
      frame_(frame),
      states_(program.buffers.size()),
      locals_(program.buffers.size()) {
  for (uint32_t b = 0; b < states_.size(); ++b) {
    if (buffer(b).kind == Buffer::Kind::kLocal)
      frame_->buffers[b] = reinterpret_cast<char*>(&locals_[b]);
    states_[b].host_valid = buffer(b).kind == Buffer::Kind::kInput;
  }
}

DeviceBuffers::~DeviceBuffers() {
  for (State& state : states_) drop_block(&state);
  for (const auto& [slot, block] : slots_) device_.memory().release(block);
  for (uint32_t b = 0; b < states_.size(); ++b)
    if (buffer(b).kind == Buffer::Kind::kLocal) frame_->buffers[b] = nullptr;
}

int64_t DeviceBuffers::size(const SizeExpr& size) const {
  const auto value = size.evaluate({frame_->symbols, program_.graph.symbols.size()});
  NUMLIFT_CHECK(value, "{} overflows", size.text());
  return *value;
}

template <class Work>
void DeviceBuffers::without_gil(Work work) {
  void* state = frame_->callbacks->release_gil(frame_->context);
  try {
    work();
  } catch (...) {
    frame_->callbacks->acquire_gil(frame_->context, state);
    throw;
  }
  frame_->callbacks->acquire_gil(frame_->context, state);
}

DeviceBuffers::Extent DeviceBuffers::extent(uint32_t index) const {
  const Buffer& b = buffer(index);
  const int64_t item_bytes = item_size(b.dtype);
  if (b.kind == Buffer::Kind::kTemp) return {0, size(b.bytes), true};
  if (b.kind == Buffer::Kind::kLocal || b.kind == Buffer::Kind::kScalar)
    return {0, item_bytes, true};
  Extent extent{0, item_bytes, true};
  int64_t high = item_bytes, count = item_bytes;
  for (size_t axis = 0; axis < b.dims.size(); ++axis) {
    const int64_t dim = size(b.dims[axis]);
    if (dim == 0) return {0, 0, true};
    count *= dim;
    // Fresh arrays: dims alone tell, in whatever order they lie.
    if (axis >= b.strides.size()) continue;
    const int64_t span = size(b.strides[axis]) * (dim - 1);
    (span < 0 ? extent.low : high) += span;
  }
  if (b.strides.size() != b.dims.size()) high = count;
  extent.bytes = high - extent.low;
  extent.is_dense = extent.bytes == count;
  return extent;
}

bool DeviceBuffers::are_inputs_aligned() const {
  for (uint32_t b = 0; b < states_.size(); ++b) {
    if (buffer(b).kind != Buffer::Kind::kInput) continue;
    const int64_t align = item_size(real_part(buffer(b).dtype));
    int64_t bits = reinterpret_cast<int64_t>(frame_->buffers[b]);
    for (const SizeExpr& stride : buffer(b).strides) bits |= size(stride);
    if (bits % align != 0) return false;
  }
  return true;
}

void DeviceBuffers::drop_block(State* state) {
  if (state->owns_block) device_.memory().release(state->block);
  state->block = 0;
  state->owns_block = false;
  state->device_valid = false;
}

bool DeviceBuffers::grows(const Buffer& buffer) const {
  return buffer.kind == Buffer::Kind::kTemp && buffer.slot < program_.grown_slots.size() &&
         program_.grown_slots[buffer.slot];
}

void DeviceBuffers::need_block(uint32_t index, const Extent& extent) {
  State& s = states_[index];
  const auto bytes = static_cast<size_t>(extent.bytes);
  if (s.block != 0 && s.block_bytes >= bytes) return;
  drop_block(&s);
  const Buffer& b = buffer(index);
  const bool shares_slot = b.kind == Buffer::Kind::kTemp && !b.moves && !grows(b);
  if (!shares_slot) {
    s.block = device_.memory().allocate(bytes);
    s.block_bytes = bytes;
    s.owns_block = true;
    return;
  }
  DevicePointer& block = slots_[b.slot];
  const auto slot_bytes = static_cast<size_t>(size(program_.temp_slot_bytes[b.slot]));
  if (block == 0) block = device_.memory().allocate(slot_bytes);
  s.block = block;
  s.block_bytes = slot_bytes;
}

DevicePointer DeviceBuffers::on_device(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  State& s = state(id);
  const Extent range = extent(index);
  need_block(index, range);
  if (!s.device_valid && s.host_valid && range.bytes != 0)
    without_gil([&] {
      device_.upload(s.block, frame_->buffers[index] + range.low, static_cast<size_t>(range.bytes));
    });
  s.device_valid = true;
  return s.block - static_cast<DevicePointer>(range.low);
}

bool DeviceBuffers::need_host(uint32_t index) {
  State& s = states_[index];
  const Buffer& b = buffer(index);
  if (!grows(b)) return true;
  const int64_t bytes = size(b.bytes);
  if (bytes <= s.host_room) return true;
  if (frame_->callbacks->grow(frame_->context, index, bytes) != 0) return false;
  s.host_room = bytes;
  return true;
}

void DeviceBuffers::download(uint32_t index, const Extent& range) {
  State& s = states_[index];
  char* start = frame_->buffers[index] + range.low;
  const auto bytes = static_cast<size_t>(range.bytes);
  if (range.is_dense) {
    without_gil([&] { device_.download(start, s.block, bytes); });
    return;
  }
  // What lies between the elements is not this buffer's to write.
  std::vector<char> copy(bytes);
  without_gil([&] { device_.download(copy.data(), s.block, bytes); });
  std::vector<int64_t> dims, strides;
  for (const SizeExpr& dim : buffer(index).dims) dims.push_back(size(dim));
  for (const SizeExpr& stride : buffer(index).strides) strides.push_back(size(stride));
  copy_elements(frame_->buffers[index], copy.data() - range.low, dims, strides,
                static_cast<size_t>(item_size(buffer(index).dtype)));
}

bool DeviceBuffers::on_host(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  State& s = state(id);
  if (s.host_valid) return true;
  if (!need_host(index)) return false;
  if (s.device_valid) {
    const Extent range = extent(index);
    if (range.bytes != 0) download(index, range);
  }
  s.host_valid = true;
  return true;
}

void DeviceBuffers::written_on_device(BufferId id) {
  state(id).device_valid = true;
  state(id).host_valid = false;
}

void DeviceBuffers::written_on_host(BufferId id) {
  state(id).device_valid = false;
  state(id).host_valid = true;
}

bool DeviceBuffers::allocate(BufferId id) {
  const auto index = static_cast<uint32_t>(id);
  State& s = state(id);
  s.host_valid = false;
  s.device_valid = false;
  // Memory of a temporary is kept while it is large enough, on either side.
  if (buffer(index).kind == Buffer::Kind::kTemp) return true;
  drop_block(&s);
  return frame_->callbacks->allocate(frame_->context, index) == 0;
}

void DeviceBuffers::swap(BufferId first, BufferId second) {
  std::swap(state(first), state(second));
  std::swap(frame_->buffers[static_cast<uint32_t>(first)],
            frame_->buffers[static_cast<uint32_t>(second)]);
}

void DeviceBuffers::replaced_on_host(BufferId id) {
  drop_block(&state(id));
  state(id).host_valid = true;
}

bool DeviceBuffers::is_visible(uint32_t index) const {
  switch (buffer(index).kind) {
    case Buffer::Kind::kInput:
    case Buffer::Kind::kArray:
    case Buffer::Kind::kScalar:
    case Buffer::Kind::kExtern:
      return true;
    default:
      return false;
  }
}

bool DeviceBuffers::all_visible_on_host() {
  for (uint32_t b = 0; b < states_.size(); ++b) {
    if (!is_visible(b) || !states_[b].device_valid) continue;
    if (!on_host(BufferId{b})) return false;
  }
  return true;
}

void DeviceBuffers::forget_visible_on_device() {
  for (uint32_t b = 0; b < states_.size(); ++b)
    if (is_visible(b) && states_[b].host_valid) states_[b].device_valid = false;
}

bool DeviceBuffers::read(BufferId id, void* value) {
  if (!on_host(id)) return false;
  const auto index = static_cast<uint32_t>(id);
  std::memcpy(value, frame_->buffers[index], static_cast<size_t>(item_size(buffer(index).dtype)));
  return true;
}

}  // namespace numlift::codegen::cuda
