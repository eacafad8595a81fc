// The only file that sees VkFFT, a header of 33,000 lines that calls OpenCL by its names. Macros
// lead those calls to the table of what was opened at run time, so that nothing needs libOpenCL to
// link or load; and away from the process's locale and output, which are not VkFFT's to change.
#include "backend/opencl/vkfft.hpp"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <string>

namespace {
// Only reached with a library: create() has asked for it.
const ob::opencl::Cl& opened() { return **ob::opencl::Cl::get(); }
}  // namespace

#define clBuildProgram opened().clBuildProgram
#define clCreateBuffer opened().clCreateBuffer
#define clCreateCommandQueue opened().clCreateCommandQueue
#define clCreateKernel opened().clCreateKernel
#define clCreateProgramWithBinary opened().clCreateProgramWithBinary
#define clCreateProgramWithSource opened().clCreateProgramWithSource
#define clEnqueueNDRangeKernel opened().clEnqueueNDRangeKernel
#define clEnqueueWriteBuffer opened().clEnqueueWriteBuffer
#define clFinish opened().clFinish
#define clGetDeviceInfo opened().clGetDeviceInfo
#define clGetProgramBuildInfo opened().clGetProgramBuildInfo
#define clGetProgramInfo opened().clGetProgramInfo
#define clReleaseCommandQueue opened().clReleaseCommandQueue
#define clReleaseKernel opened().clReleaseKernel
#define clReleaseMemObject opened().clReleaseMemObject
#define clReleaseProgram opened().clReleaseProgram
#define clSetKernelArg opened().clSetKernelArg
#define printf(...) ((void)0)
// The daemon's numbers have the C locale's decimal point: it sets no other.
#define setlocale(category, name) (static_cast<char*>(nullptr))
#define VKFFT_BACKEND 3
#include <vkFFT.h>
#undef printf
#undef setlocale

namespace ob::opencl {
namespace {

class Transform final : public VkTransform {
 public:
  Transform(const Accelerator& accelerator, const VkShape& shape)
      : device_(accelerator.device),
        context_(accelerator.context),
        forward_(shape.sign < 0),
        bytes_(shape.bytes()) {}
  ~Transform() override {
    if (made_) deleteVkFFT(&app_);
  }

  Status plan(const VkShape& shape) {
    VkFFTConfiguration wanted{};
    wanted.device = &device_;
    wanted.context = &context_;
    wanted.FFTdim = static_cast<std::uint64_t>(shape.rank);
    for (int i = 0; i < shape.rank; ++i) {  // VkFFT's first dimension is that of a row
      wanted.size[i] = shape.n[static_cast<std::size_t>(shape.rank - 1 - i)];
    }
    wanted.numberBatches = shape.batch;
    wanted.doublePrecision = shape.single ? 0 : 1;
    wanted.performR2C = shape.kind == FftKind::c2c ? 0 : 1;
    wanted.makeForwardPlanOnly = forward_ ? 1 : 0;
    wanted.makeInversePlanOnly = forward_ ? 0 : 1;
    wanted.bufferSize = &bytes_;
    wanted.specifyOffsetsAtLaunch = 1;
    // Sines from tables: those that devices compute are good to some 1e-6 only.
    wanted.useLUT = 1;
    wanted.useUint64 = bytes_ > UINT32_MAX ? 1 : 0;
    const VkFFTResult result = initializeVkFFT(&app_, wanted);
    if (result != VKFFT_SUCCESS) {  // it has cleaned up
      return {Code::unsupported, "VkFFT cannot plan this transform (its result " +
                                     std::to_string(static_cast<int>(result)) + ")"};
    }
    made_ = true;
    take_work_over();
    return {};
  }

  std::uint64_t work_bytes() const noexcept override { return work_bytes_; }

  Status run(cl_command_queue queue, Place data, Place work) override {
    VkFFTLaunchParams launch{};
    launch.commandQueue = &queue;
    launch.buffer = &data.buffer;
    launch.bufferOffset = data.offset_bytes;
    launch.inputBufferOffset = data.offset_bytes;
    launch.outputBufferOffset = data.offset_bytes;
    if (work_bytes_ > 0) {
      launch.tempBuffer = &work.buffer;
      launch.tempBufferOffset = work.offset_bytes;
    }
    const VkFFTResult result = VkFFTAppend(&app_, forward_ ? -1 : 1, &launch);
    // It remembers pointers to what lies on this function's stack.
    app_.configuration.buffer = nullptr;
    app_.configuration.inputBuffer = nullptr;
    app_.configuration.outputBuffer = nullptr;
    app_.configuration.tempBuffer = nullptr;
    app_.configuration.commandQueue = nullptr;
    if (result == VKFFT_SUCCESS) return {};
    return {Code::device_error,
            "VkFFT failed (its result " + std::to_string(static_cast<int>(result)) + ")"};
  }

 private:
  // Work space is the queue's, counted against the device's cap, and not the plan's own.
  void take_work_over() {
    if (app_.configuration.allocateTempBuffer == 0) return;
    work_bytes_ = app_.configuration.tempBufferSize[0];
    (void)clReleaseMemObject(app_.configuration.tempBuffer[0]);
    free(app_.configuration.tempBuffer);
    app_.configuration.tempBuffer = nullptr;
    app_.configuration.allocateTempBuffer = 0;
  }

  cl_device_id device_;  // VkFFT keeps pointers to these
  cl_context context_;
  const bool forward_;
  std::uint64_t bytes_;
  std::uint64_t work_bytes_ = 0;
  VkFFTApplication app_{};
  bool made_ = false;
};

}  // namespace

std::uint64_t VkShape::bytes() const noexcept {
  std::uint64_t elements = batch;
  for (int i = 0; i < rank; ++i) {
    const std::uint64_t count = n[static_cast<std::size_t>(i)];
    elements *= i + 1 == rank && kind != FftKind::c2c ? count / 2 + 1 : count;
  }
  return elements * complex_bytes();
}

Result<std::unique_ptr<VkTransform>> VkTransform::create(const Accelerator& accelerator,
                                                         const VkShape& shape) {
  auto made = std::make_unique<Transform>(accelerator, shape);
  OB_RETURN_IF_ERROR(made->plan(shape));
  return std::unique_ptr<VkTransform>(std::move(made));
}

}  // namespace ob::opencl
