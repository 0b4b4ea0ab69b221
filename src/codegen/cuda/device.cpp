#include "device.h"

#include <fmt/format.h>

#include <memory>

#include "numlift/codegen/cuda.h"
#include "nvrtc.h"

namespace numlift::codegen {
namespace cuda {
namespace {

constexpr size_t kSmallGranule = 512, kLargeGranule = size_t{2} << 20;
constexpr int kAttributeMultiprocessors = 16, kAttributeMajor = 75, kAttributeMinor = 76;
constexpr int kOldestArch = 80;

std::atomic<int64_t> transfers{0};

std::mutex devices_mutex;
std::map<const DriverTable*, std::unique_ptr<Device>>& devices() {
  static auto* known = new std::map<const DriverTable*, std::unique_ptr<Device>>();
  return *known;
}

std::string missing_device(const DriverTable& table) {
  if (!table.missing.empty()) return table.missing;
  int count = 0;
  int error = table.init(0);
  if (error == 0) error = table.count_devices(&count);
  if (error != 0 && error != kNoDevice)
    return fmt::format("no CUDA device: NVIDIA's driver answers with error {}", error);
  if (count == 0) return "no CUDA device: NVIDIA's driver finds no GPU that this process may use";
  return "";
}

}  // namespace

DevicePointer DeviceMemory::allocate(size_t bytes) {
  const size_t granule = bytes > kLargeGranule / 2 ? kLargeGranule : kSmallGranule;
  bytes = (bytes + granule - 1) / granule * granule + (bytes == 0 ? granule : 0);
  const std::lock_guard lock(mutex_);
  // The smallest that is large enough, unless most of it would lie idle.
  const auto fit = kept_.lower_bound(bytes);
  if (fit != kept_.end() && fit->first <= 2 * bytes) {
    const auto [size, memory] = *fit;
    kept_.erase(fit);
    kept_bytes_ -= size;
    used_[memory] = size;
    return memory;
  }
  DevicePointer memory = 0;
  int error = table_.allocate(&memory, bytes);
  if (error == kOutOfMemory && kept_bytes_ != 0) {
    give_back_locked();
    error = table_.allocate(&memory, bytes);
  }
  if (error != 0) fail_driver(table_, error, fmt::format("cuMemAlloc of {} bytes", bytes));
  used_[memory] = bytes;
  return memory;
}

void DeviceMemory::release(DevicePointer memory) {
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(memory);
  if (used == used_.end()) return;
  kept_.emplace(used->second, memory);
  kept_bytes_ += used->second;
  used_.erase(used);
}

void DeviceMemory::give_back_locked() {
  for (const auto& [size, memory] : kept_) table_.release(memory);
  kept_.clear();
  kept_bytes_ = 0;
}

void DeviceMemory::give_back() {
  const std::lock_guard lock(mutex_);
  give_back_locked();
}

size_t DeviceMemory::kept_bytes() {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

Device::Device(const DriverTable& table) : table_(table), memory_(table) {
  if (const std::string missing = missing_device(table); !missing.empty())
    throw CudaError(CudaError::Kind::kNoDevice, missing);
  int number = 0, major = 0, minor = 0;
  check_driver(table_, table_.get_device(&number, 0), "cuDeviceGet");
  check_driver(table_, table_.device_attribute(&major, kAttributeMajor, number),
               "cuDeviceGetAttribute");
  check_driver(table_, table_.device_attribute(&minor, kAttributeMinor, number),
               "cuDeviceGetAttribute");
  check_driver(table_,
               table_.device_attribute(&multiprocessors_, kAttributeMultiprocessors, number),
               "cuDeviceGetAttribute");
  arch_ = 10 * major + minor;
  if (arch_ < kOldestArch)
    throw CudaError(CudaError::Kind::kNoDevice,
                    fmt::format("no CUDA device: the GPU has compute capability {}.{}, and numlift "
                                "needs 8.0 or more",
                                major, minor));
  check_driver(table_, table_.retain_context(&context_, number), "cuDevicePrimaryCtxRetain");
  make_current();
  constexpr unsigned kBesideTheDefaultStream = 1;
  check_driver(table_, table_.create_stream(&stream_, kBesideTheDefaultStream), "cuStreamCreate");
}

void Device::make_current() {
  check_driver(table_, table_.set_context(context_), "cuCtxSetCurrent");
}

void Device::upload(DevicePointer to, const void* from, size_t bytes) {
  ++transfers;
  // From memory that is not pinned the call returns when the source has been read.
  check_driver(table_, table_.copy_to_device(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
}

void Device::download(void* to, DevicePointer from, size_t bytes) {
  ++transfers;
  check_driver(table_, table_.copy_to_host(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
  check_driver(table_, table_.wait_for_stream(stream_), "cuStreamSynchronize");
}

Device& device() {
  const DriverTable& table = driver();
  const std::lock_guard lock(devices_mutex);
  std::unique_ptr<Device>& known = devices()[&table];
  if (!known) known = std::make_unique<Device>(table);
  return *known;
}

}  // namespace cuda

std::string missing_for_cuda() {
  const std::string missing = cuda::missing_device(cuda::driver());
  return missing.empty() ? cuda::missing_nvrtc() : missing;
}

int64_t cuda_transfer_count() { return cuda::transfers; }

void cuda_release_memory() {
  const std::lock_guard lock(cuda::devices_mutex);
  for (const auto& [table, device] : cuda::devices()) {
    device->make_current();
    device->memory().give_back();
  }
}

}  // namespace numlift::codegen
