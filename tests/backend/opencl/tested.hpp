#pragma once
// The first OpenCL device of this machine, for tests of single parts.

#include <gtest/gtest.h>

#include "backend/opencl/accelerator.hpp"

namespace ob::opencl {

/// Skips the test if OpenCL finds no device.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    const auto all = Accelerator::all();
    if (!all.ok()) GTEST_SKIP() << all.status().message();
    accelerator_ = &all.value()->front();
  }

  const Cl& cl() const { return **Cl::get(); }
  const Accelerator& accelerator() const { return *accelerator_; }

 private:
  const Accelerator* accelerator_ = nullptr;
};

}  // namespace ob::opencl
