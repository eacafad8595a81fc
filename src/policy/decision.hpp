#pragma once
// How long a call is going to take elsewhere.

#include <cstdint>

#include "base/link.hpp"
#include "policy/size_table.hpp"

namespace ob::policy {

/// What a call is about to do, and what names it among the calls of its routine.
struct Work {
  double calls = 1;  ///< of a batch; all figures are of all of them
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
  bool overlaps = false;       ///< sending, computing and returning go on at the same time
  bool may_stay = false;       ///< operands stay on the device for the next call
  double device_share = 1;     ///< of the device's own figure, where nothing was observed
  std::uint64_t shape = 0;     ///< of dimensions and flags; not 0
  std::uint64_t operands = 0;  ///< of where they lie
};

/// What one knows of doing it elsewhere.
struct Remote {
  const Link& link;
  double flop_per_s = 0;   ///< observed for this routine, or the device's own figure scaled
  double correction = 1;   ///< what calls took over what was predicted
  double bytes_there = 0;  ///< of bytes_to: expected to be on the device already
  double waiting_s = 0;    ///< behind other people's work
};

/// Seconds, by stage.
struct Prediction {
  double fixed_s = 0;  ///< round trips
  double to_s = 0;     ///< with the look at what may be there already
  double compute_s = 0;
  double from_s = 0;
  double waiting_s = 0;
  double whole_s = 0;  ///< corrected; timings may overlap. 0: unknown
};

/// An unknown link or device rate gives 0: nothing is guessed.
Prediction predict(const Work& work, const Remote& remote) noexcept;

/// How fast operands are compared with what is on the device [byte/s]: XXH3 on one core, with its
/// share of memory traffic.   Source: docs/decisions/0007-residency.md
inline constexpr double kLookBytesPerS = 8e9;

}  // namespace ob::policy
