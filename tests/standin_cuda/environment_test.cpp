// The effects of environment variables on the stand-in. Each test runs in a process of its own.

#include <cstdlib>

#include "standin_cuda/core/settings.hpp"
#include "standin_cuda/tested.hpp"

namespace {

// Runs `body` in a new process with that environment, and expects its exit code.
#define EXPECT_PROCESS(code, words, body)         \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(                                    \
      {                                           \
        body;                                     \
        std::exit(0);                             \
      },                                          \
      ::testing::ExitedWithCode(code), words)

void set(const char* name, const char* value) { setenv(name, value, 1); }

TEST(Environment, WhatLeaksIsToldAtTheEnd) {
  EXPECT_PROCESS(standin::kDirtyExit, "leaked: 1 device block", {
    set("STANDIN_CUDA_EXIT", "1");
    void* p = nullptr;
    (void)cudaMalloc(&p, 8);
  });
}

TEST(Environment, NothingIsToldOfACleanProcess) {
  EXPECT_PROCESS(0, "^$", {
    set("STANDIN_CUDA_EXIT", "1");
    void* p = nullptr;
    (void)cudaMalloc(&p, 8);
    (void)cudaFree(p);
  });
}

TEST(Environment, BrokenRulesAreToldAtTheEnd) {
  EXPECT_PROCESS(standin::kDirtyExit, "rules broken: 1, the last: cudaFree", {
    set("STANDIN_CUDA_EXIT", "1");
    int host = 0;
    (void)cudaFree(&host);
  });
}

TEST(Environment, ABrokenRuleCanEndTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        set("STANDIN_CUDA_ABORT", "1");
        int host = 0;
        (void)cudaFree(&host);
      },
      "a host pointer");
}

TEST(Environment, WithoutADriverThereAreNoDevices) {
  EXPECT_PROCESS(cudaErrorInsufficientDriver, "", {
    set("STANDIN_CUDA_NO_DRIVER", "1");
    int count = -1;
    std::exit(cudaGetDeviceCount(&count));
  });
}

TEST(Environment, ThereMayBeNoDevices) {
  EXPECT_PROCESS(cudaErrorNoDevice, "", {
    set("STANDIN_CUDA_DEVICES", "0");
    int count = -1;
    std::exit(cudaGetDeviceCount(&count));
  });
}

TEST(Environment, TheNthAllocationFails) {
  EXPECT_PROCESS(0, "", {
    set("STANDIN_CUDA_FAIL_MALLOC", "2");
    set("STANDIN_CUDA_FAIL", "cudaMemset:1:1");
    void* p = nullptr;
    if (cudaMalloc(&p, 8) != cudaSuccess) std::exit(1);
    if (cudaMalloc(&p, 8) != cudaErrorMemoryAllocation) std::exit(2);
    if (cudaMalloc(&p, 8) != cudaSuccess) std::exit(3);
    if (cudaMemset(p, 0, 8) != cudaErrorInvalidValue) std::exit(4);
  });
}

TEST(Environment, MemoryIsCapped) {
  EXPECT_PROCESS(0, "", {
    set("STANDIN_CUDA_MEMORY", "1M");
    void* p = nullptr;
    if (cudaMalloc(&p, (1 << 20) + 1) != cudaErrorMemoryAllocation) std::exit(1);
    if (cudaMalloc(&p, 1 << 20) != cudaSuccess) std::exit(2);
  });
}

TEST(Environment, AFaultOfTheDeviceStays) {
  EXPECT_PROCESS(0, "", {
    set("STANDIN_CUDA_STICKY", "2");
    void* p = nullptr;
    cudaStream_t stream = nullptr;
    if (cudaMalloc(&p, 8) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) std::exit(1);
    (void)cudaMemsetAsync(p, 0, 8, stream);
    (void)cudaMemsetAsync(p, 0, 8, stream);
    if (cudaStreamSynchronize(stream) != cudaErrorIllegalAddress) std::exit(2);
    if (cudaMalloc(&p, 8) != cudaErrorIllegalAddress) std::exit(3);
  });
}

// With delays, a program that does not wait reads old data most times. The race is reported always.
TEST(Environment, WorkIsDelayed) {
  EXPECT_PROCESS(0, "seen too early", {
    set("STANDIN_CUDA_DELAY_US", "20000");
    set("STANDIN_CUDA_QUIET", "1");
    void* p = nullptr;
    void* host = nullptr;
    cudaStream_t stream = nullptr;
    (void)cudaMalloc(&p, 8);
    (void)cudaHostAlloc(&host, 8, 0);
    (void)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 1; i <= 20; ++i) {
      (void)cudaMemsetAsync(p, i, 8, stream);
      (void)cudaMemcpyAsync(host, p, 8, cudaMemcpyDeviceToHost, stream);
      if (*static_cast<volatile char*>(host) != i) {
        std::fprintf(stderr, "seen too early\n");
        break;
      }
    }
  });
}

}  // namespace
