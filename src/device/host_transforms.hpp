#pragma once
// Transforms of host memory, for devices that have the processor do what their own library lacks.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Threads: one at a time
class HostPlan {
 public:
  virtual ~HostPlan() = default;

  /// Transforms packed arrays in host memory, as planned; keeps the input unless in place.
  /// Errors: out_of_memory; device_error
  virtual Status execute(std::byte* input, std::byte* output) = 0;
};

/// Threads: any
class HostTransforms {
 public:
  virtual ~HostTransforms() = default;

  /// Plans; may take long.   @pre check_plan() accepts it
  /// Errors: unsupported without a library; out_of_memory
  virtual Result<std::unique_ptr<HostPlan>> plan(const FftPlan& plan) const = 0;
  /// About what such a plan takes of the host's memory at most [bytes].
  virtual std::uint64_t plan_bytes(const FftPlan& plan) const noexcept = 0;
};

}  // namespace ob
