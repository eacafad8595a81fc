#pragma once
// A transform of the caller, with the places of its data in the caller's memory.

#include <array>
#include <cstdint>

#include "base/layout.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

/// The layout of the packed data of one side of a transform in the caller's memory. The first
/// dimension is the slowest. Batch (howmany) dimensions come before those of the transform.
/// Units: strides in bytes
struct FftSide {
  std::uint32_t element_bytes = 0;
  int dimensions = 0;
  std::array<Layout::Dimension, Layout::kMaxDimensions> dims{};

  /// The data if the side begins at `array`.
  Layout layout(void* array) const noexcept {
    return Layout::strided(array, element_bytes,
                           {dims.data(), static_cast<std::size_t>(dimensions)});
  }
};

/// One plan as the accelerator sees it. It holds no pointers, because each call has its own arrays.
/// Split arrays are a side of reals whose last dimension, of length 2, steps from the real array to
/// the imaginary one.
struct FftTransform {
  FftPlan plan;  ///< the packed problem
  FftSide input;
  FftSide output;
};

/// The same data without gaps, in the order of the dimensions.
inline FftSide packed(FftSide side) noexcept {
  std::int64_t stride_bytes = side.element_bytes;
  for (int i = side.dimensions; i-- > 0;) {
    Layout::Dimension& dimension = side.dims[static_cast<std::size_t>(i)];
    dimension.stride_bytes = stride_bytes;
    stride_bytes *= static_cast<std::int64_t>(dimension.count);
  }
  return side;
}

/// The caller's arrays of one execution.
struct FftArrays {
  void* input = nullptr;
  void* output = nullptr;
};

/// The plan for the device. Every transform is in place there, because the caller's arrays are not
/// on the device and one array takes half the memory.
inline FftPlan plan_on_device(FftPlan plan) noexcept {
  plan.in_place = true;
  return plan;
}

/// The place of the executions of a plan.
enum class FftDecision : std::uint8_t {
  local,   ///< for the life of the plan
  remote,  ///< for the life of the plan
  open,    ///< decided again at every execution
  likely,  ///< open, and the first execution would leave now
  trial,   ///< open; this execution runs locally, and before that in Engine::rehearse_fft()
};

enum class FftMoment : std::uint8_t { plan, execute };

}  // namespace ob::offload
