#pragma once
// Transforms of one FftPlan on a device.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/opencl/queue_context.hpp"
#include "device/host_transforms.hpp"
#include "routines/fft.hpp"

namespace ob::opencl {

/// By VkFFT, or by the processor: real-to-real transforms, more than three dimensions, double
/// precision where the device has none, and what VkFFT cannot plan.
/// Threads: make() one at a time; execute() by one thread at a time
class ClFftPlan {
 public:
  /// Plans; may take long.   @pre check_plan() accepts it
  /// @param memory where what plans keep on the device counts; outlives them
  /// @param host what the processor can do; nullptr: nothing
  /// Errors: unsupported; out_of_memory; device_error
  static Result<std::unique_ptr<ClFftPlan>> make(const Accelerator& accelerator,
                                                 DeviceMemory& memory, const HostTransforms* host,
                                                 const FftPlan& plan);
  virtual ~ClFftPlan() = default;

  /// Submits the transform of packed arrays in device memory (equal if planned in place); workspace
  /// comes from the context. Keeps the input unless in place.
  /// Errors: out_of_memory; device_error
  virtual Status execute(QueueContext& context, std::byte* input, std::byte* output) = 0;

  /// About what such a plan takes of the host's memory [bytes].
  static std::uint64_t host_bytes(const HostTransforms* host, const FftPlan& plan) noexcept;

 protected:
  ClFftPlan() = default;
};

}  // namespace ob::opencl
