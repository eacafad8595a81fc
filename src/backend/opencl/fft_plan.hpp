#pragma once
// Transforms of one FftPlan on a device.

#include <cstddef>

#include "backend/opencl/queue_context.hpp"
#include "routines/fft.hpp"

namespace ob::opencl {

/// Threads: one at a time
class ClFftPlan {
 public:
  virtual ~ClFftPlan() = default;

  /// Submits the transform of packed arrays in device memory. The two arrays are the same if the
  /// plan is in place; otherwise the input is kept. The context provides the workspace.
  /// Errors: out_of_memory; device_error
  virtual Status execute(QueueContext& context, std::byte* input, std::byte* output) = 0;

 protected:
  ClFftPlan() = default;
};

}  // namespace ob::opencl
