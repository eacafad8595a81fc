#pragma once
// Helpers of the stand-in's own tests. They link the stand-in, which a plugin never does.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "standin_cuda/core/standin_cuda.h"

namespace standin {

/// Each test starts without broken rules and injected failures, and leaves no live object.
class StandinTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    standin_cuda_forget_violations();
    living_ = standin_cuda_living();
  }
  void TearDown() override {
    standin_cuda_fail_no_more();
    EXPECT_EQ(standin_cuda_violations(), broken_) << standin_cuda_last_violation();
    EXPECT_EQ(standin_cuda_living(), living_);
    (void)cudaGetLastError();
  }

  /// Expects that one rule was broken and that the report contains these words.
  void broke(const std::string& words) {
    ++broken_;
    EXPECT_EQ(standin_cuda_violations(), broken_);
    EXPECT_NE(std::string(standin_cuda_last_violation()).find(words), std::string::npos)
        << standin_cuda_last_violation();
  }

 private:
  unsigned long long broken_ = 0;
  std::string living_;
};

/// Memory of the current device.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t n) : n_(n) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, n * sizeof(T)), cudaSuccess);
    p_ = static_cast<T*>(p);
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    EXPECT_EQ(cudaMemcpy(p_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnDevice() { EXPECT_EQ(cudaFree(p_), cudaSuccess); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() const { return p_; }
  std::vector<T> host() const {
    std::vector<T> values(n_);
    EXPECT_EQ(cudaMemcpy(values.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  std::size_t n_;
  T* p_ = nullptr;
};

class OnStream {
 public:
  OnStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~OnStream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace standin
