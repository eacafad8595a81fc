#pragma once
// Runs FFTs of any size on a device with less memory than their data.

#include <span>

#include "algorithms/call_timings.hpp"
#include "algorithms/fft/task.hpp"
#include "base/layout.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// One array of a transform. Layout::strided(data, element_bytes, dimensions) lists it in packed
/// order, with the batch dimensions before those of the transform. For complex data in two arrays
/// of reals, a last dimension of 2 steps from the real to the imaginary parts.
struct FftArray {
  void* data = nullptr;
  std::uint32_t element_bytes = 0;
  std::span<const Layout::Dimension> dimensions;
};

/// A transform and its data in host memory.
struct FftCall {
  const FftPlan& plan;  ///< in_place tells whether the device runs it in place
  FftArray input;
  FftArray output;
  bool in_out;  ///< the arrays share memory
};

/// True if a device with that much memory can hold all of the plan's data at once.
bool fits(std::uint64_t memory_bytes, const FftPlan& plan) noexcept;
bool fits(const Device& device, const FftPlan& plan) noexcept;

/// Runs an FFT whose data lie in host memory. If the data do not fit in the device's memory, or
/// other sessions leave too little of it, the FFT runs in passes: the transforms of a batch in
/// parts, the dimensions of one transform one after another, a long dimension as two short ones, a
/// real-to-real dimension through a real or complex transform.
/// Memory:  as offload_call. In passes, a transform of one array, of two arrays of reals or from
///          complex to real takes host memory for its operands or intermediate data. Long
///          dimensions that are prime, odd and real, real and strided, or real to real take a few
///          times their own size
/// Errors:  those of offload_call; out_of_memory if the device has no room for the parts
/// Cost:    docs/large-transforms.md
Status offload_fft(Device& device, QueueId queue, const FftPlanner& planner, const FftCall& call,
                   CallTimings& timings);

}  // namespace ob::algorithms
