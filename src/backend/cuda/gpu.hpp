#pragma once
// One of the machine's accelerators.

#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// Threads: any
struct Gpu {
  const Libraries& libraries;
  int ordinal = 0;  ///< its number in CUDA

  const Runtime& runtime() const noexcept { return libraries.runtime(); }
  /// Makes the accelerator current for the calling thread, which uses no other one meanwhile.
  /// Errors: unavailable; device_error
  Status make_current() const {
    return runtime().check(runtime().cudaSetDevice(ordinal), "choosing the device");
  }
};

}  // namespace ob::cuda
