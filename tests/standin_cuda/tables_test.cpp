// Every function that the cuda backend looks up exists in the stand-in and, where they are
// installed, in NVIDIA's own libraries. Both compile our kernels.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "backend/cuda/blas_table.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/fft_table.hpp"
#include "backend/cuda/kernel_code.hpp"
#include "backend/cuda/nvrtc_table.hpp"
#include "backend/cuda/runtime.hpp"
#include "backend/cuda/solver_table.hpp"

namespace {

// STANDIN_CUDA_REAL=1 tests NVIDIA's own libraries where the loader finds them.
bool real() { return std::getenv("STANDIN_CUDA_REAL") != nullptr; }

// Looks the name up with the version that NVIDIA's libraries give their functions.
void expect(void* library, const char* soname, const char* name) {
  EXPECT_NE(dlvsym(library, name, soname), nullptr) << name;
}

void* open(const char* soname) {
  const std::string path = (real() ? "" : STANDIN_CUDA_FOLDER "/") + std::string(soname);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

#define OPEN_OR_SKIP(library, soname)                          \
  const char* const version = soname;                          \
  void* const library = open(version);                         \
  if (library == nullptr && real()) GTEST_SKIP() << dlerror(); \
  ASSERT_NE(library, nullptr) << dlerror()
#define EXPECT_IN_LIBRARY(name) expect(library, version, OB_CUDA_TEXT(name));
#define EXPECT_ROW_IN_LIBRARY(routine, name) EXPECT_IN_LIBRARY(name)

TEST(Tables, TheRuntimeIsComplete) {
  OPEN_OR_SKIP(library, "libcudart.so.13");
  OB_CUDART_FUNCTIONS(EXPECT_IN_LIBRARY)
}

TEST(Tables, TheDriverIsComplete) {
  OPEN_OR_SKIP(library, "libcudart.so.13");
  const auto find = reinterpret_cast<decltype(&cudaGetDriverEntryPointByVersion)>(
      dlsym(library, "cudaGetDriverEntryPointByVersion"));
  ASSERT_NE(find, nullptr);
  void* first = nullptr;
  if (find("cuInit", &first, 12000, 0, nullptr) != cudaSuccess && real())
    GTEST_SKIP() << version << " finds no driver";
#define EXPECT_IN_DRIVER(name)                                         \
  {                                                                    \
    void* function = nullptr;                                          \
    EXPECT_EQ(find(#name, &function, 12000, 0, nullptr), cudaSuccess); \
    EXPECT_NE(function, nullptr) << #name;                             \
  }
  OB_CUDA_DRIVER_FUNCTIONS(EXPECT_IN_DRIVER)
}

TEST(Tables, CublasIsComplete) {
  OPEN_OR_SKIP(library, "libcublas.so.13");
  OB_CUBLAS_FUNCTIONS(EXPECT_IN_LIBRARY)
  OB_CUBLAS_ROWS(EXPECT_ROW_IN_LIBRARY)
}

TEST(Tables, CusolverIsComplete) {
  OPEN_OR_SKIP(library, "libcusolver.so.12");
  OB_CUSOLVER_FUNCTIONS(EXPECT_IN_LIBRARY)
  OB_CUSOLVER_ROW_FUNCTIONS(EXPECT_IN_LIBRARY)
}

TEST(Tables, CufftIsComplete) {
  OPEN_OR_SKIP(library, "libcufft.so.12");
  OB_CUFFT_FUNCTIONS(EXPECT_IN_LIBRARY)
}

struct Opened {
  void* handle;
  void* symbol(const char* name) const { return dlsym(handle, name); }
};

ob::cuda::NvrtcTable nvrtc_table(const Opened& library) {
  ob::cuda::NvrtcTable table;
  const char* missing = nullptr;
  OB_NVRTC_FUNCTIONS(OB_CUDA_FILL)
  EXPECT_EQ(missing, nullptr);
  return table;
}

// NVRTC needs no driver and no GPU. The stand-in accepts only kernels that NVRTC accepts, too.
TEST(Tables, NvrtcIsCompleteAndCompilesOurKernels) {
  OPEN_OR_SKIP(library, "libnvrtc.so.13");
  OB_NVRTC_FUNCTIONS(EXPECT_IN_LIBRARY)
  const ob::cuda::NvrtcTable table = nvrtc_table({library});
  for (const char* option : {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90"}) {
    nvrtcProgram program = nullptr;
    ASSERT_EQ(table.nvrtcCreateProgram(&program, ob::cuda::kernel_source(), "kernels", 0, nullptr,
                                       nullptr),
              NVRTC_SUCCESS);
    const nvrtcResult result = table.nvrtcCompileProgram(program, 1, &option);
    std::size_t size = 0;
    ASSERT_EQ(table.nvrtcGetProgramLogSize(program, &size), NVRTC_SUCCESS);
    std::string log(size, '\0');
    ASSERT_EQ(table.nvrtcGetProgramLog(program, log.data()), NVRTC_SUCCESS);
    EXPECT_EQ(result, NVRTC_SUCCESS) << option << ": " << log;
    ASSERT_EQ(table.nvrtcGetCUBINSize(program, &size), NVRTC_SUCCESS);
    EXPECT_GT(size, 1000U);
    ASSERT_EQ(table.nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  }
}

}  // namespace
