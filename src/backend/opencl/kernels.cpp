#include "backend/opencl/kernels.hpp"

#include <utility>

namespace ob::opencl {
namespace {

// A work-group has neighbours in a column. All launches use one size, because PoCL compiles a
// kernel again for each size of a work-group.
constexpr std::array<std::size_t, 2> kGroup{64, 1};

std::string build_log(const Cl& cl, cl_program program, cl_device_id device) {
  char text[4096] = {};
  (void)cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text,
                                 nullptr);
  return text;
}

}  // namespace

Result<Kernels> Kernels::create(const Cl& cl, const Accelerator& accelerator) {
  const char* source = kernel_source();
  cl_int result = CL_SUCCESS;
  const cl_program program =
      cl.clCreateProgramWithSource(accelerator.context, 1, &source, nullptr, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making kernels"));
  Kernels made(cl, program);
  const char* const options = accelerator.has_fp64 ? "-cl-std=CL1.2 -DOB_FP64" : "-cl-std=CL1.2";
  result = cl.clBuildProgram(program, 1, &accelerator.device, options, nullptr, nullptr);
  if (result != CL_SUCCESS) {
    return Status(Code::device_error, Cl::check(result, "compiling kernels").message() + ": " +
                                          build_log(cl, program, accelerator.device));
  }
  return made;
}

Kernels::Kernels(Kernels&& other) noexcept
    : cl_(other.cl_), program_(std::exchange(other.program_, nullptr)) {}

Kernels::~Kernels() {
  if (program_ != nullptr) (void)cl_.clReleaseProgram(program_);
}

// A kernel object stores its arguments, so that each launch has its own object.
Status Kernels::submit(cl_command_queue queue, const std::string& name,
                       std::array<std::size_t, 2> size, const Parameter* parameters,
                       std::size_t count) const {
  cl_int result = CL_SUCCESS;
  const cl_kernel kernel = cl_.clCreateKernel(program_, name.c_str(), &result);
  for (std::size_t i = 0; i < count && result == CL_SUCCESS; ++i) {
    result = cl_.clSetKernelArg(kernel, static_cast<cl_uint>(i), parameters[i].size_bytes,
                                parameters[i].value);
  }
  if (result == CL_SUCCESS) {
    const std::array<std::size_t, 2> global{(size[0] + kGroup[0] - 1) / kGroup[0] * kGroup[0],
                                            size[1]};
    result = cl_.clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global.data(), kGroup.data(), 0,
                                        nullptr, nullptr);
  }
  if (kernel != nullptr) (void)cl_.clReleaseKernel(kernel);  // OpenCL frees it after it has run
  return Cl::check(result, name);
}

}  // namespace ob::opencl
