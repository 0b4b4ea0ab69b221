// The two copies of a program's buffers in one run: in the host's memory and on the device. Each
// side gets the other's copy when it needs it, and only then.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device.h"
#include "numlift/codegen/program.h"

namespace numlift::codegen::cuda {

class DeviceBuffers {
 public:
  DeviceBuffers(Device& device, const Program& program, ProgramFrame* frame);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  // Address of the buffer's origin on the device, its contents there; for what is only written,
  // too, as it may be written in part.
  DevicePointer on_device(BufferId id);
  // The same on the host. False: there is no memory.
  bool on_host(BufferId id);
  void written_on_device(BufferId id);
  void written_on_host(BufferId id);

  // Of AllocateStep, SwapStep, and of the items of an extern step. False: restart.
  bool allocate(BufferId id);
  void swap(BufferId first, BufferId second);
  void replaced_on_host(BufferId id);

  // What Python may look at: results and arrays of the caller.
  bool all_visible_on_host();
  // Python may have changed any of it.
  void forget_visible_on_device();

  // An element read by the host: of a condition, of a symbol. False: there is no memory.
  bool read(BufferId id, void* value);

  int64_t size(const SizeExpr& size) const;
  // Every element of every array lies at a multiple of its size, as the device needs it.
  bool are_inputs_aligned() const;

 private:
  struct State {
    DevicePointer block = 0;  // 0: none yet
    size_t block_bytes = 0;
    bool owns_block = false;  // else its slot does
    bool host_valid = false, device_valid = false;
    int64_t host_room = -1;  // kTemp that grows: bytes that the host has given it
  };
  // Bytes around the origin that the elements take, and whether they fill them.
  struct Extent {
    int64_t low = 0, bytes = 0;
    bool is_dense = true;
  };
  Extent extent(uint32_t index) const;
  const Buffer& buffer(uint32_t index) const { return program_.buffers[index]; }
  State& state(BufferId id) { return states_[static_cast<uint32_t>(id)]; }
  // A temporary whose memory only grows, and is its own.
  bool grows(const Buffer& buffer) const;
  void need_block(uint32_t index, const Extent& extent);
  bool need_host(uint32_t index);
  void download(uint32_t index, const Extent& extent);
  void drop_block(State* state);
  bool is_visible(uint32_t index) const;
  template <class Work>
  void without_gil(Work work);

  Device& device_;
  const Program& program_;
  ProgramFrame* frame_;
  std::vector<State> states_;
  std::map<uint32_t, DevicePointer> slots_;
  std::vector<ScalarSlot> locals_;  // memory of kLocal buffers
};

}  // namespace numlift::codegen::cuda
