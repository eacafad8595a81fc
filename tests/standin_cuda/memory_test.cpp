// Memory of the stand-in: the calls that it refuses, and the errors that it finds.

#include <cmath>
#include <csignal>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;
using standin::OnStream;

namespace {

class Memory : public standin::StandinTest {};

TEST_F(Memory, FreshMemoryIsNotANumber) {
  const OnDevice<double> x(1000);
  for (const double v : x.host()) EXPECT_TRUE(std::isnan(v));
  const OnDevice<float> large((20 << 20) / 4 + 3);  // larger than the mapped file of NaN
  for (const float v : large.host()) ASSERT_TRUE(std::isnan(v));
}

TEST_F(Memory, CopiesGoThereAndBack) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  const OnDevice<double> x(values);
  EXPECT_EQ(x.host(), values);
  // Copies the middle two of each three rows.
  std::vector<double> part(4, -1);
  ASSERT_EQ(cudaMemcpy2D(part.data(), 16, x.get() + 1, 24, 16, 2, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(part, (std::vector<double>{2, 3, 5, 6}));
}

TEST_F(Memory, TheHostCannotFollowADevicesAddress) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        void* p = nullptr;
        (void)cudaMalloc(&p, 64);
        *static_cast<volatile double*>(p) = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(Memory, AHostPointerIsNotOfADevice) {
  double host[4] = {};
  const OnDevice<double> x(4);
  EXPECT_EQ(cudaMemset(host, 0, sizeof host), cudaErrorInvalidValue);
  broke("a host pointer where memory of device 0 is wanted");
  EXPECT_EQ(cudaMemcpy(host, host, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  broke("the kind of copy does not fit");
  EXPECT_EQ(cudaMemcpy(host, x.get(), sizeof host, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  broke("the kind of copy does not fit");
}

TEST_F(Memory, AnOverrunIsFound) {
  std::vector<double> host(5);
  const OnDevice<double> x(4);
  EXPECT_EQ(cudaMemcpy(host.data(), x.get(), 33, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  broke("1 bytes beyond the end of a block of 32 bytes");
  // The range ends inside the last row.
  EXPECT_EQ(cudaMemcpy2D(host.data(), 16, x.get(), 24, 16, 2, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  broke("8 bytes beyond the end");
}

TEST_F(Memory, WhatIsWrittenBesideABlockIsFoundWhenItIsFreed) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 10), cudaSuccess);
  static_cast<char*>(standin_cuda_backing(p))[10] = 0;  // writes like a kernel
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  broke("memory beside the block of 10 bytes was written");
}

TEST_F(Memory, FreedMemoryIsFound) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaMemset(p, 0, 8), cudaErrorInvalidValue);
  broke("freed memory");
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  broke("freed memory");
}

TEST_F(Memory, WhatLivesIsCounted) {
  void* p = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 64), cudaSuccess);
  EXPECT_NE(std::string(standin_cuda_living()).find("1 device block(s)"), std::string::npos);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
}

TEST_F(Memory, ACapHolds) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  void* all = nullptr;
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&all, free), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaFree(all), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
}

TEST_F(Memory, RegisteredMemoryIsPageLocked) {
  std::vector<double> host(100);
  ASSERT_EQ(cudaHostRegister(host.data(), 800, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data() + 50, 8, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, host.data() + 99), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, host.data()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  broke("not the begin of a registered range");
}

TEST_F(Memory, MemoryFreedInAStreamIsGoneAtOnceForTheProgram) {
  const OnStream stream;
  void* p = nullptr;
  ASSERT_EQ(cudaMallocAsync(&p, 64, stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(p, 0, 64, stream), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(p, stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(p, 0, 64, stream), cudaErrorInvalidValue);
  broke("freed memory");
}

TEST_F(Memory, TheNthCallFails) {
  standin_cuda_fail("cudaMalloc:2");
  void* p = nullptr;
  void* q = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 8), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&q, 8), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&q, 8), cudaSuccess);
  standin_cuda_fail("cudaMemset:1+:1,cudaFree:/2");
  EXPECT_EQ(cudaMemset(p, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(p, 0, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(q), cudaErrorUnknown);
  EXPECT_EQ(cudaFree(q), cudaSuccess);
}

}  // namespace
