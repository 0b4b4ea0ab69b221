// Runs programs with the driver and the compiler of tests/device/fake_cuda.cpp in place of
// NVIDIA's.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "numlift/support/check.h"
#include "numlift/support/options.h"

namespace numlift::testing {

class FakeDevice {
 public:
  FakeDevice() {
    setenv("NUMLIFT_FAKE_CUDA", NUMLIFT_FAKE_CUDA_FOLDER, 1);
    setenv("NUMLIFT_FAKE_CUDA_SHIM", NUMLIFT_TEST_DATA "/device/shim.h", 1);
    set_option("cuda_driver", NUMLIFT_FAKE_CUDA_LIBRARY);
    set_option("nvrtc", NUMLIFT_FAKE_CUDA_LIBRARY);
    library_ = dlopen(NUMLIFT_FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    NUMLIFT_CHECK(library_, "{}", dlerror());
    call<void()>("fake_cuda_reset")();
  }
  ~FakeDevice() {
    call<void()>("fake_cuda_reset")();
    set_option("cuda_driver", "");
    set_option("nvrtc", "");
  }
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  void fail(const char* symbol, int error, int good_calls = 0) {
    call<void(const char*, int, int)>("fake_cuda_fail")(symbol, error, good_calls);
  }
  void set_memory(size_t bytes) { call<void(size_t)>("fake_cuda_set_memory")(bytes); }
  size_t used_bytes() { return call<size_t()>("fake_cuda_used_bytes")(); }
  int64_t launches() { return call<int64_t()>("fake_cuda_launches")(); }

 private:
  template <class F>
  F* call(const char* name) {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }
  void* library_;
};

}  // namespace numlift::testing
