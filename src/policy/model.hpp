#pragma once
// The model: how long a call takes on a device.

#include <cstdint>

#include "base/link.hpp"
#include "policy/size_table.hpp"

namespace ob::policy {

/// The work of a call, and what names it among the calls of its routine.
struct Work {
  double calls = 1;  ///< of a batch; all figures are of all of them
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
  bool overlaps = false;       ///< sending, computing and returning go on at the same time
  bool may_stay = false;       ///< operands stay on the device for the next call
  double device_share = 1;     ///< of the device's own figure, where nothing was observed
  std::uint64_t shape = 0;     ///< hash of dimensions and flags; not 0
  std::uint64_t operands = 0;  ///< of the memory that they lie in
};

/// A device and the way to it, as far as they are known.
struct Remote {
  const Link& link;
  double flop_per_s = 0;       ///< observed for this routine, or the device's own figure scaled
  double correction = 1;       ///< what calls took over what was predicted
  double bytes_on_device = 0;  ///< the part of bytes_to that is expected to be there already
  double waiting_s = 0;        ///< for other clients' work
};

/// The time of a remote call, by stage.   Units: seconds
struct PredictedTime {
  double fixed_s = 0;  ///< round trips
  double to_s = 0;     ///< with the comparison of operands that may be there already
  double compute_s = 0;
  double from_s = 0;
  double waiting_s = 0;
  double whole_s = 0;  ///< corrected; stages may overlap. 0: unknown
};

/// Predicts the time of a remote call. An unknown link or device rate gives 0: nothing is guessed.
PredictedTime predict(const Work& work, const Remote& remote) noexcept;

/// The rate at which operands are compared with their copies on the device [byte/s]: XXH3 on one
/// core, with its share of memory traffic.   Source: docs/decisions/0007-residency.md
inline constexpr double kLookBytesPerS = 8e9;

}  // namespace ob::policy
