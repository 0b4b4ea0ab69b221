// The device: context, stream, memory, transfers.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "driver.h"

namespace numlift::codegen::cuda {

// Freed blocks are kept and given out again: cuMemAlloc waits for the device. All work is on one
// stream, so a block may be used again at once: what was enqueued before is done before.
class DeviceMemory {
 public:
  explicit DeviceMemory(const DriverTable& table) : table_(table) {}
  DevicePointer allocate(size_t bytes);
  void release(DevicePointer memory);
  void give_back();
  // For tests and messages.
  size_t kept_bytes();

 private:
  void give_back_locked();

  const DriverTable& table_;
  std::mutex mutex_;
  std::multimap<size_t, DevicePointer> kept_;
  std::map<DevicePointer, size_t> used_;
  size_t kept_bytes_ = 0;
};

class Device {
 public:
  explicit Device(const DriverTable& table);
  const DriverTable& table() const { return table_; }
  DeviceMemory& memory() { return memory_; }
  Stream stream() const { return stream_; }
  int arch() const { return arch_; }
  int multiprocessors() const { return multiprocessors_; }

  // Of the calling thread.
  void make_current();
  void upload(DevicePointer to, const void* from, size_t bytes);
  // Waits for all work before it.
  void download(void* to, DevicePointer from, size_t bytes);

 private:
  const DriverTable& table_;
  DeviceMemory memory_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  int arch_ = 0, multiprocessors_ = 1;
};

// The first device of the present driver(); throws CudaError when there is none.
Device& device();

}  // namespace numlift::codegen::cuda
