// Every function that the cuda backend looks up is there: otherwise what needs it is not tested.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/cuda/blas_table.hpp"
#include "backend/cuda/driver.hpp"
#include "backend/cuda/fft_table.hpp"
#include "backend/cuda/nvrtc_table.hpp"
#include "backend/cuda/runtime.hpp"
#include "backend/cuda/solver_table.hpp"

namespace {

void expect(void* library, const char* name) { EXPECT_NE(dlsym(library, name), nullptr) << name; }

void* open(const char* name) {
  void* library = dlopen((std::string(STANDIN_CUDA_FOLDER "/") + name).c_str(), RTLD_NOW);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

#define EXPECT_IN_LIBRARY(name) expect(library, OB_CUDA_TEXT(name));
#define EXPECT_ROW_IN_LIBRARY(routine, name) EXPECT_IN_LIBRARY(name)

TEST(Tables, TheRuntimeIsComplete) {
  void* library = open("libcudart.so.13");
  OB_CUDART_FUNCTIONS(EXPECT_IN_LIBRARY)
}

TEST(Tables, TheDriverIsComplete) {
  const auto find = reinterpret_cast<decltype(&cudaGetDriverEntryPointByVersion)>(
      dlsym(open("libcudart.so.13"), "cudaGetDriverEntryPointByVersion"));
  ASSERT_NE(find, nullptr);
#define EXPECT_IN_DRIVER(name)                                         \
  {                                                                    \
    void* function = nullptr;                                          \
    EXPECT_EQ(find(#name, &function, 12000, 0, nullptr), cudaSuccess); \
    EXPECT_NE(function, nullptr) << #name;                             \
  }
  OB_CUDA_DRIVER_FUNCTIONS(EXPECT_IN_DRIVER)
}

TEST(Tables, CublasIsComplete) {
  void* library = open("libcublas.so.13");
  OB_CUBLAS_FUNCTIONS(EXPECT_IN_LIBRARY)
  OB_CUBLAS_ROWS(EXPECT_ROW_IN_LIBRARY)
}

TEST(Tables, CusolverIsComplete) {
  void* library = open("libcusolver.so.12");
  OB_CUSOLVER_FUNCTIONS(EXPECT_IN_LIBRARY)
  OB_CUSOLVER_ROW_FUNCTIONS(EXPECT_IN_LIBRARY)
}

TEST(Tables, CufftIsComplete) {
  void* library = open("libcufft.so.12");
  OB_CUFFT_FUNCTIONS(EXPECT_IN_LIBRARY)
}

TEST(Tables, NvrtcIsComplete) {
  void* library = open("libnvrtc.so.13");
  OB_NVRTC_FUNCTIONS(EXPECT_IN_LIBRARY)
}

}  // namespace
