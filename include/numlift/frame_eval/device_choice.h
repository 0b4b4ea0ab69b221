// The device on which this thread's compiled functions run: numlift.device().
#pragma once

#include <atomic>
#include <cstdint>

namespace numlift::frame_eval {

enum class DeviceKind : uint8_t { kHost, kCuda };

// Blocks that are open in the whole process: most never open one, and pay one load.
inline std::atomic<int> open_device_blocks{0};
DeviceKind device_of_this_thread();
inline DeviceKind current_device() {
  return open_device_blocks.load(std::memory_order_relaxed) == 0 ? DeviceKind::kHost
                                                                 : device_of_this_thread();
}
// Begins a block and returns what was; end_device_block gives that back.
DeviceKind begin_device_block(DeviceKind device);
void end_device_block(DeviceKind before);

}  // namespace numlift::frame_eval
