#include "backend/opencl/kernel_runner.hpp"

#include <utility>

#include "backend/opencl/kernel_program.hpp"
#include "backend/opencl/queue.hpp"

namespace ob::opencl {
namespace {

class DeviceProgram final : public ClKernelProgram {
 public:
  DeviceProgram(const Cl& cl, const Accelerator& accelerator, const ClMemory& memory,
                Compiled compiled)
      : ClKernelProgram(cl, std::move(compiled)), memory_(memory) {
    cl_uint bits = 0;
    (void)cl.clGetDeviceInfo(accelerator.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits,
                             nullptr);
    if (bits >= 8) alignment_bytes_ = bits / 8;
  }

  Status run(const BoundLaunch& launch, HostQueue& queue) const override {
    return run_on(static_cast<ClQueue&>(queue).context().queue, launch);
  }

 protected:
  // A place inside of a buffer is a sub-buffer, whose beginning OpenCL wants to be aligned.
  Result<KernelBuffer> buffer_of(const BoundArgument& argument) const override {
    const Place place = memory_.place(argument.data);
    if (place.offset_bytes == 0) return KernelBuffer{place.buffer, false};
    if (place.offset_bytes % alignment_bytes_ != 0) {
      return Status(Code::unsupported,
                    "it begins at byte " + std::to_string(place.offset_bytes) +
                        " of its buffer (this OpenCL device wants a multiple of " +
                        std::to_string(alignment_bytes_) +
                        "); pass the beginning of the buffer, and an index as a number");
    }
    const cl_buffer_region region{place.offset_bytes, argument.bytes};
    cl_int result = CL_SUCCESS;
    const cl_mem part =
        cl().clCreateSubBuffer(place.buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
    OB_RETURN_IF_ERROR(Cl::check(result, "a part of a buffer"));
    return KernelBuffer{part, true};
  }

 private:
  const ClMemory& memory_;
  std::size_t alignment_bytes_ = 1;
};

}  // namespace

bool ClKernelRunner::takes(const ModuleVariant& variant) const {
  return variant.kind == SourceKind::portable || variant.kind == SourceKind::opencl;
}

Result<std::unique_ptr<KernelProgram>> ClKernelRunner::compile(
    const ModuleVariant& variant, const std::vector<Definition>& definitions,
    std::string& log) const {
  OB_ASSIGN_OR_RETURN(auto compiled,
                      ClKernelProgram::compile(cl_, accelerator_, variant, definitions, log));
  return std::unique_ptr<KernelProgram>(
      std::make_unique<DeviceProgram>(cl_, accelerator_, memory_, std::move(compiled)));
}

}  // namespace ob::opencl
