#include "bench/raw_launches.hpp"

#if !__has_include(<CL/cl.h>)

namespace ob::bench {
std::unique_ptr<RawLaunches> RawLaunches::open() { return nullptr; }
}  // namespace ob::bench

#else

#include <CL/cl.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ob::bench {
namespace {

constexpr const char* kSource = "__kernel void nothing(__global double* x, ulong n) {}";

// The functions of libOpenCL.so.1.
struct OpenCl {
  void* library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

  template <class Function>
  Function* find(const char* name, Function* /*prototype*/) const {
    auto* const found = reinterpret_cast<Function*>(::dlsym(library, name));
    if (found == nullptr) std::abort();
    return found;
  }
};

#define OB_CL(function) cl_.find(#function, &::function)

void expect(cl_int result, const char* step) {
  if (result == CL_SUCCESS) return;
  std::fprintf(stderr, "OpenCL: %s failed (%d)\n", step, result);
  std::exit(1);
}

class Pocl final : public RawLaunches {
 public:
  Pocl(const OpenCl& cl, cl_device_id device)
      : cl_(cl), enqueue_(OB_CL(clEnqueueNDRangeKernel)), finish_(OB_CL(clFinish)) {
    cl_int result = CL_SUCCESS;
    const cl_context context =
        OB_CL(clCreateContext)(nullptr, 1, &device, nullptr, nullptr, &result);
    expect(result, "clCreateContext");
    queue_ = OB_CL(clCreateCommandQueue)(context, device, 0, &result);
    expect(result, "clCreateCommandQueue");
    const char* source = kSource;
    const cl_program program =
        OB_CL(clCreateProgramWithSource)(context, 1, &source, nullptr, &result);
    expect(result, "clCreateProgramWithSource");
    expect(OB_CL(clBuildProgram)(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
    kernel_ = OB_CL(clCreateKernel)(program, "nothing", &result);
    expect(result, "clCreateKernel");
    const cl_mem memory = OB_CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, 4096, nullptr, &result);
    expect(result, "clCreateBuffer");
    const cl_ulong n = 0;
    expect(OB_CL(clSetKernelArg)(kernel_, 0, sizeof memory, &memory), "clSetKernelArg");
    expect(OB_CL(clSetKernelArg)(kernel_, 1, sizeof n, &n), "clSetKernelArg");
    (void)round_trip(1);
  }

  double round_trip(std::uint64_t count) override {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      launch();
      expect(finish_(queue_), "clFinish");
    }
    return seconds_since(start) / static_cast<double>(count) * 1e6;
  }

  double launches(std::uint64_t count) override {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < count; ++i) launch();
    expect(finish_(queue_), "clFinish");
    return static_cast<double>(count) / seconds_since(start);
  }

 private:
  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void launch() {
    const std::size_t one = 1;
    expect(enqueue_(queue_, kernel_, 1, nullptr, &one, &one, 0, nullptr, nullptr), "a launch");
  }

  const OpenCl cl_;
  decltype(&::clEnqueueNDRangeKernel) enqueue_;
  decltype(&::clFinish) finish_;
  cl_command_queue queue_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

cl_device_id find_pocl(const OpenCl& cl_) {
  cl_uint count = 0;
  if (OB_CL(clGetPlatformIDs)(0, nullptr, &count) != CL_SUCCESS) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  expect(OB_CL(clGetPlatformIDs)(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_platform_id platform : platforms) {
    char name[256] = {};
    (void)OB_CL(clGetPlatformInfo)(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr);
    cl_device_id device = nullptr;
    if (std::string(name).find("Portable Computing Language") == std::string::npos) continue;
    if (OB_CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  return nullptr;
}

}  // namespace

// What OpenCL gives stays until the program ends.
std::unique_ptr<RawLaunches> RawLaunches::open() {
  const OpenCl cl;
  if (cl.library == nullptr) return nullptr;
  const cl_device_id device = find_pocl(cl);
  if (device == nullptr) return nullptr;
  return std::make_unique<Pocl>(cl, device);
}

}  // namespace ob::bench

#endif
