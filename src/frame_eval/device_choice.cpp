#include "numlift/frame_eval/device_choice.h"

namespace numlift::frame_eval {
namespace {

thread_local DeviceKind chosen = DeviceKind::kHost;

}  // namespace

DeviceKind device_of_this_thread() { return chosen; }

DeviceKind begin_device_block(DeviceKind device) {
  ++open_device_blocks;
  const DeviceKind before = chosen;
  chosen = device;
  return before;
}

void end_device_block(DeviceKind before) {
  chosen = before;
  --open_device_blocks;
}

}  // namespace numlift::frame_eval
