#pragma once
// Transforms of host memory. Devices use them for transforms that their own libraries lack.

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

  /// Transforms packed arrays in host memory as planned; keeps the input unless in place.
  /// Errors: out_of_memory; device_error
  virtual Status execute(std::byte* input, std::byte* output) = 0;
};

/// Threads: any
class HostTransforms {
 public:
  virtual ~HostTransforms() = default;

  /// Makes a plan; may take long.   Errors: unsupported without a library; out_of_memory
  /// @pre check_plan(plan).ok()
  virtual Result<std::unique_ptr<HostPlan>> plan(const FftPlan& plan) const = 0;
  /// Returns an upper estimate of the host memory that a plan takes [bytes].
  virtual std::uint64_t plan_bytes(const FftPlan& plan) const noexcept = 0;
};

}  // namespace ob
