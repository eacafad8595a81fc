#pragma once
// What a transform costs on the link.

#include <cstdint>

#include "routines/fft.hpp"

namespace ob::algorithms {

/// Units: bytes
struct FftTraffic {
  double bytes_to = 0;
  double bytes_from = 0;
};

/// What offload_fft sends and receives for `plan` on a device with that much memory, nobody else
/// using it: the data once each way if they fit, else once per pass; infinite if offload_fft cannot
/// cut it small enough.
/// Cost:  up to sqrt(n) divisions for a dimension n that does not fit
FftTraffic bytes_moved(const FftPlan& plan, std::uint64_t device_memory_bytes) noexcept;

}  // namespace ob::algorithms
