// This is the only file that includes VkFFT, a header of 33,000 lines that calls OpenCL by name.
// Macros redirect those calls to the table of functions opened at run time, so that nothing needs
// libOpenCL to link or load. They also count VkFFT's allocations, and keep it from changing the
// process's locale and output.
#include "backend/opencl/vkfft.hpp"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace {
// The library is open, because create() has checked it.
const ob::opencl::Cl& opened() { return **ob::opencl::Cl::get(); }

// The memory that VkFFT allocates for one transform.
class Buffers {
 public:
  explicit Buffers(ob::DeviceMemory& memory) : memory_(memory) {}
  // VkFFT leaks some of its memory when it fails.
  ~Buffers() {
    for (const auto& [buffer, counted] : counted_) (void)opened().clReleaseMemObject(buffer);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  cl_mem create(cl_context context, cl_mem_flags flags, std::size_t size, void* from,
                cl_int* result) {
    auto counted = memory_.set_aside(size, ob::DeviceMemory::Aside::for_long);
    if (!counted.ok()) {
      refused_ = counted.status();
      *result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
      return nullptr;
    }
    const cl_mem made = opened().clCreateBuffer(context, flags, size, from, result);
    if (*result == CL_SUCCESS) {
      counted_[made] = std::move(*counted);
    } else {
      refused_ = ob::opencl::Cl::check(*result, "allocating " + std::to_string(size) + " bytes");
    }
    return made;
  }
  cl_int release(cl_mem buffer) {
    const cl_int result = opened().clReleaseMemObject(buffer);
    counted_.erase(buffer);
    return result;
  }
  // The reason of the last failed allocation.
  const ob::Status& refused() const { return refused_; }

 private:
  ob::DeviceMemory& memory_;
  std::map<cl_mem, std::shared_ptr<const void>> counted_;
  ob::Status refused_;
};

// The transform that VkFFT's calls on this thread belong to.
thread_local Buffers* current = nullptr;
class Calling {
 public:
  explicit Calling(Buffers& buffers) { current = &buffers; }
  ~Calling() { current = nullptr; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
};

// The limits of a GPU, which VkFFT's plans are made for. PoCL has work-groups of 4,096 items, and
// its local memory is a processor's level-2 cache. With 2 MiB of that, VkFFT 1.2 plans work-groups
// whose kernel ends with a segmentation fault.
constexpr cl_ulong kMostLocalBytes = 64 << 10;
constexpr std::size_t kMostItems = 1024;

cl_int get_device_info(cl_device_id device, cl_device_info name, std::size_t size, void* value,
                       std::size_t* size_needed) {
  const cl_int result = opened().clGetDeviceInfo(device, name, size, value, size_needed);
  if (result != CL_SUCCESS || value == nullptr) return result;
  if (name == CL_DEVICE_LOCAL_MEM_SIZE && size == sizeof kMostLocalBytes) {
    auto& bytes = *static_cast<cl_ulong*>(value);
    bytes = std::min(bytes, kMostLocalBytes);
  } else if (name == CL_DEVICE_MAX_WORK_GROUP_SIZE && size == sizeof kMostItems) {
    auto& items = *static_cast<std::size_t*>(value);
    items = std::min(items, kMostItems);
  }
  return result;
}
}  // namespace

#define clBuildProgram opened().clBuildProgram
#define clCreateBuffer current->create
#define clCreateCommandQueue opened().clCreateCommandQueue
#define clCreateKernel opened().clCreateKernel
#define clCreateProgramWithBinary opened().clCreateProgramWithBinary
#define clCreateProgramWithSource opened().clCreateProgramWithSource
#define clEnqueueNDRangeKernel opened().clEnqueueNDRangeKernel
#define clEnqueueWriteBuffer opened().clEnqueueWriteBuffer
#define clFinish opened().clFinish
#define clGetDeviceInfo get_device_info
#define clGetProgramBuildInfo opened().clGetProgramBuildInfo
#define clGetProgramInfo opened().clGetProgramInfo
#define clReleaseCommandQueue opened().clReleaseCommandQueue
#define clReleaseKernel opened().clReleaseKernel
#define clReleaseMemObject current->release
#define clReleaseProgram opened().clReleaseProgram
#define clSetKernelArg opened().clSetKernelArg
#define printf(...) ((void)0)
// The daemon uses the C locale, so that numbers have its decimal point.
#define setlocale(category, name) (static_cast<char*>(nullptr))
#define VKFFT_BACKEND 3
#include <vkFFT.h>
#undef printf
#undef setlocale

namespace ob::opencl {
namespace {

class Transform final : public VkTransform {
 public:
  Transform(const Accelerator& accelerator, DeviceMemory& memory, const VkShape& shape)
      : buffers_(memory),
        device_(accelerator.device),
        context_(accelerator.context),
        forward_(shape.sign < 0),
        bytes_(shape.bytes()) {}
  ~Transform() override {
    const Calling calling(buffers_);
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
    // VkFFT uses tables of sines, because sines that devices compute have errors of some 1e-6.
    wanted.useLUT = 1;
    wanted.useUint64 = bytes_ > UINT32_MAX ? 1 : 0;
    const Calling calling(buffers_);
    const VkFFTResult result = initializeVkFFT(&app_, wanted);
    if (result != VKFFT_SUCCESS) {  // VkFFT has freed its resources
      OB_RETURN_IF_ERROR(buffers_.refused().in("a plan's tables"));
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
    const Calling calling(buffers_);
    const VkFFTResult result = VkFFTAppend(&app_, forward_ ? -1 : 1, &launch);
    // VkFFT remembers pointers to this function's stack.
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
  // The workspace belongs to the queue and counts against the device's cap; the plan has none.
  void take_work_over() {
    if (app_.configuration.allocateTempBuffer == 0) return;
    work_bytes_ = app_.configuration.tempBufferSize[0];
    (void)clReleaseMemObject(app_.configuration.tempBuffer[0]);
    free(app_.configuration.tempBuffer);
    app_.configuration.tempBuffer = nullptr;
    app_.configuration.allocateTempBuffer = 0;
  }

  Buffers buffers_;
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
                                                         DeviceMemory& memory,
                                                         const VkShape& shape) {
  auto made = std::make_unique<Transform>(accelerator, memory, shape);
  OB_RETURN_IF_ERROR(made->plan(shape));
  return std::unique_ptr<VkTransform>(std::move(made));
}

}  // namespace ob::opencl
