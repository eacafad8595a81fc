#pragma once
// Transforms of one FftPlan on a device.

#include <cstddef>

#include "backend/cuda/stream_context.hpp"
#include "routines/fft.hpp"

namespace ob::cuda {

/// Threads: one at a time
class CudaFftPlan {
 public:
  virtual ~CudaFftPlan() = default;

  /// Submits the transform of packed arrays in device memory. The two arrays are the same if the
  /// plan is in place; otherwise the input is kept. The context provides the workspace.
  /// Errors: out_of_memory; device_error
  virtual Status execute(StreamContext& context, const std::byte* input, std::byte* output) = 0;

 protected:
  CudaFftPlan() = default;
};

}  // namespace ob::cuda
