#pragma once
// One of the machine's accelerators.

#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// Threads: any
struct Gpu {
  const Libraries& libraries;
  int ordinal = 0;  ///< CUDA's number of it

  const Runtime& runtime() const noexcept { return libraries.runtime(); }
  /// For the calling thread, which works for no other meanwhile.   Errors: unavailable,
  /// device_error
  Status make_current() const {
    return runtime().check(runtime().cudaSetDevice(ordinal), "choosing the device");
  }
};

}  // namespace ob::cuda
