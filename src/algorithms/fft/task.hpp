#pragma once
// Transforms of strided host arrays, in the form that the algorithms for large transforms cut.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.hpp"
#include "routines/fft.hpp"

namespace ob::algorithms {

/// One dimension of the transform or of the batch of an FftTask.
/// Units: counts in elements of that side, strides in bytes
struct FftAxis {
  std::uint64_t input_count = 0;
  std::uint64_t output_count = 0;
  std::int64_t input_stride = 0;
  std::int64_t output_stride = 0;
};

/// plan.batch transforms of plan.rank axes each, as in FFTW's guru interface.
/// Memory: owns no data. If input and output are one array, their strides are equal
struct FftTask {
  FftPlan plan;  ///< in_place and batch are ignored
  std::vector<FftAxis> batch;
  std::vector<FftAxis> transform;  ///< the first axis is the slowest, as in plan.n
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  /// Called when the results of [first, first + count) of the only batch axis are in `output`.
  std::function<void(std::uint64_t first, std::uint64_t count)> landed;

  bool in_place() const { return input == output; }
};

/// Functions that make plans for a device and start work on it. Both outlive the call that they are
/// given to.
struct FftPlanner {
  /// Returns a plan that stays valid for the call.
  std::function<Result<PlanId>(const FftPlan&)> plan;
  /// Sends the submitted commands that no thread waits for yet; may be empty.
  std::function<Status()> flush;
};

/// Bytes of one element.
inline std::uint32_t element_bytes(const FftPlan& plan, bool input) noexcept {
  const std::uint32_t complex_bytes =
      plan.precision == Precision::c || plan.precision == Precision::s ? 8 : 16;
  const bool real = plan.kind == FftKind::r2r || plan.kind == (input ? FftKind::r2c : FftKind::c2r);
  return real ? complex_bytes / 2 : complex_bytes;
}

/// Bytes of device memory for one transform of the plan, in place.
inline std::uint64_t transform_bytes(FftPlan plan) noexcept {
  plan.batch = 1;
  return input_bytes(plan) > output_bytes(plan) ? input_bytes(plan) : output_bytes(plan);
}

}  // namespace ob::algorithms
