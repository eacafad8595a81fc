#pragma once
// Transforms of one FftPlan on a device.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cuda/stream_context.hpp"
#include "routines/fft.hpp"

namespace ob::cuda {

/// Threads: make() any, with the device current; execute() by one thread at a time
class CudaFftPlan {
 public:
  /// Plans; may take long.   @pre check_plan() accepts it
  /// Errors: unsupported; unavailable without the library; out_of_memory; device_error
  static Result<std::unique_ptr<CudaFftPlan>> make(const Libraries& libraries, int device,
                                                   const FftPlan& plan);
  virtual ~CudaFftPlan() = default;

  /// Submits the transform of packed arrays in device memory (equal if planned in place); workspace
  /// comes from the context. Keeps the input unless in place.
  /// Errors: out_of_memory; device_error
  virtual Status execute(StreamContext& context, const std::byte* input, std::byte* output) = 0;

  /// About what such a plan takes of the host's memory [bytes].
  static std::uint64_t host_bytes(const FftPlan& plan) noexcept;

 protected:
  CudaFftPlan() = default;
};

}  // namespace ob::cuda
