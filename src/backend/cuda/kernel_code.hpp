#pragma once
// Machine code of the kernels, from the compiler or from the cache.

#include <string>

#include "backend/cuda/gpu.hpp"

namespace ob::cuda {

/// The texts of kernels/*.cuh, one after another.
const char* kernel_source() noexcept;

/// Returns the compute capability of an accelerator: 90 for 9.0.   Errors: device_error
Result<int> compute_capability(const Gpu& gpu);

/// Returns code for devices of a compute capability (90 for 9.0). It comes from the cache of this
/// process or of earlier ones, or from the compiler (0.1 s).
/// Threads: any   Errors: device_error, with the compiler's words
Result<std::string> kernel_code(const NvrtcTable& compiler, int capability);

}  // namespace ob::cuda
