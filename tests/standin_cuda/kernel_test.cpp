// Kernels of the stand-in: NVRTC compiles them, the driver launches them.

#include <cuda.h>
#include <nvrtc.h>

#include <cstring>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;
using standin::OnStream;

namespace {

constexpr const char* kSource = R"(
template <class T> __device__ T twice(T a) { return a + a; }
#define KERNEL(name, T) \
  extern "C" __global__ void name(long long n, T add, T* x) { \
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) \
      x[i] = twice(x[i]) + add; \
  }
KERNEL(twice_d, double)
)";

class Kernels : public standin::StandinTest {
 protected:
  template <class Function>
  static Function driver(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
              cudaSuccess);
    EXPECT_EQ(found, cudaDriverEntryPointSuccess);
    return reinterpret_cast<Function>(function);
  }
  // Returns a "cubin". If the source does not compile, returns nothing and sets the log.
  static std::vector<char> compile(const char* source, const char* option, std::string* log) {
    nvrtcProgram program = nullptr;
    EXPECT_EQ(nvrtcCreateProgram(&program, source, "kernels", 0, nullptr, nullptr), NVRTC_SUCCESS);
    const bool ok = nvrtcCompileProgram(program, 1, &option) == NVRTC_SUCCESS;
    std::size_t size = 0;
    EXPECT_EQ(nvrtcGetProgramLogSize(program, &size), NVRTC_SUCCESS);
    log->resize(size);
    EXPECT_EQ(nvrtcGetProgramLog(program, log->data()), NVRTC_SUCCESS);
    std::vector<char> cubin;
    if (ok) {
      EXPECT_EQ(nvrtcGetCUBINSize(program, &size), NVRTC_SUCCESS);
      cubin.resize(size);
      EXPECT_EQ(nvrtcGetCUBIN(program, cubin.data()), NVRTC_SUCCESS);
    }
    EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
    return cubin;
  }
};

TEST_F(Kernels, AreCompiledAndRun) {
  std::string log;
  const std::vector<char> cubin = compile(kSource, "--gpu-architecture=sm_90", &log);
  ASSERT_FALSE(cubin.empty()) << log;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(driver<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, cubin.data()),
            CUDA_SUCCESS);
  const auto get = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
  EXPECT_EQ(get(&function, module, "none"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(get(&function, module, "twice_d"), CUDA_SUCCESS);
  const OnDevice<double> x(std::vector<double>{1, 2, 3});
  const OnStream stream;
  long long n = 3;
  double add = 10;
  double* data = x.get();
  void* arguments[] = {&n, &add, &data};
  const auto launch = driver<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  ASSERT_EQ(launch(function, 1, 1, 1, 2, 1, 1, 0, stream, arguments, nullptr), CUDA_SUCCESS);
  add = -1;  // the launch has copied its arguments
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(x.host(), (std::vector<double>{12, 14, 16}));

  double host[3];
  data = host;
  EXPECT_EQ(launch(function, 1, 1, 1, 2, 1, 1, 0, stream, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  broke("a host pointer");
  EXPECT_EQ(launch(function, 1, 1, 1, 2048, 1, 1, 0, stream, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  broke("no such grid or block");
  EXPECT_EQ(driver<decltype(&cuModuleUnload)>("cuModuleUnload")(module), CUDA_SUCCESS);
}

TEST_F(Kernels, AMistakeIsInTheLog) {
  std::string log;
  EXPECT_TRUE(compile("__global__ void f() { nonsense; }", "-arch=sm_90", &log).empty());
  EXPECT_NE(log.find("nonsense"), std::string::npos) << log;
  EXPECT_TRUE(compile(kSource, "--no-such-option", &log).empty());
  EXPECT_NE(log.find("--no-such-option"), std::string::npos) << log;
}

TEST_F(Kernels, AnImageOfAnotherArchitectureIsRefused) {
  std::string log;
  const std::vector<char> cubin = compile(kSource, "--gpu-architecture=sm_80", &log);
  const auto load = driver<decltype(&cuModuleLoadData)>("cuModuleLoadData");
  CUmodule module = nullptr;
  EXPECT_EQ(load(&module, cubin.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  broke("an image that is none");
  std::vector<char> rubbish(1000, 'x');
  EXPECT_EQ(load(&module, rubbish.data()), CUDA_ERROR_INVALID_IMAGE);
  broke("an image that is none");
}

TEST_F(Kernels, ADriverFunctionThatIsNotThereIsToldSo) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuNone", &function, 12000, 0, &found), cudaSuccess);
  EXPECT_EQ(found, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
}

}  // namespace
