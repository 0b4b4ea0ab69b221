// Devices: the choice of one, what there is of CUDA, and kernels as text.
#include <pybind11/stl.h>

#include "bindings.h"
#include "numlift/codegen/cuda.h"
#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/device_choice.h"

namespace py = pybind11;

namespace numlift {

void bind_cuda(py::module_& module) {
  using frame_eval::DeviceKind;
  module.def("missing_for_cuda", &codegen::missing_for_cuda);
  module.def("missing_cuda_compiler", &codegen::missing_cuda_compiler);
  module.def("cuda_transfer_count", &codegen::cuda_transfer_count);
  module.def("cuda_release_memory", [] {
    const py::gil_scoped_release released;
    codegen::cuda_release_memory();
  });
  module.def("cuda_compiler_messages", [](const std::string& kernels, int arch) {
    const py::gil_scoped_release released;
    return codegen::cuda_compiler_messages(kernels, arch);
  });
  module.def("cuda_sources", [](const py::object& compiled) {
    if (compiled.ptr()->ob_type != frame_eval::compiled_function_type())
      throw py::type_error("expected what numlift.compile returned");
    return frame_eval::cuda_sources_of(compiled.ptr());
  });
  // What was chosen before, for end_device_block.
  module.def("begin_device_block", [](bool cuda) {
    return static_cast<int>(
        frame_eval::begin_device_block(cuda ? DeviceKind::kCuda : DeviceKind::kHost));
  });
  module.def("end_device_block",
             [](int before) { frame_eval::end_device_block(static_cast<DeviceKind>(before)); });
  module.def("is_cuda_chosen", [] { return frame_eval::current_device() == DeviceKind::kCuda; });
}

}  // namespace numlift
