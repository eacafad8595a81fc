#pragma once
// The traffic of a transform on the link.

#include <cstdint>

#include "routines/fft.hpp"

namespace ob::algorithms {

/// The traffic of one transform in both directions.   Units: bytes
struct FftTraffic {
  double bytes_to = 0;
  double bytes_from = 0;
};

/// Returns the bytes that offload_fft sends and receives for `plan` on a device with
/// `device_memory_bytes`, all of it free. The data are transferred once each way if they fit,
/// otherwise once per pass. The result is infinite if offload_fft cannot cut the transform small
/// enough.
/// Cost:  up to sqrt(n) divisions for a dimension n that does not fit
FftTraffic bytes_moved(const FftPlan& plan, std::uint64_t device_memory_bytes) noexcept;

}  // namespace ob::algorithms
