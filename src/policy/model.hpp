#pragma once
// The model: the time of a call on a device.

#include <array>
#include <cstdint>

#include "base/link.hpp"
#include "policy/size_table.hpp"

namespace ob::policy {

/// The memory of one operand that a call reads.   Units: bytes
struct OperandMemory {
  std::uint64_t address = 0;  ///< 0: the call replaces what it reads, so it is new each time
  double bytes = 0;           ///< 0: no operand
};
using OperandMemories = std::array<OperandMemory, 4>;

/// The work of a call, and its names among the calls of its routine.
struct Work {
  double calls = 1;  ///< calls of a batch; the figures are those of all of them
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
  double memory_bytes = 0;     ///< of all operands on the device; one that is replaced counts once
  bool overlaps = false;       ///< sending, computing and returning overlap
  bool may_stay = false;       ///< operands stay on the device for the next call
  std::uint64_t shape = 0;     ///< hash of dimensions and flags; not 0
  OperandMemories operands{};  ///< those that are read; empty where none may stay
};

/// A device and the link to it, as far as they are known.
struct Remote {
  const Link& link;
  double flop_per_s = 0;       ///< observed for this routine, or the device's own figure scaled
  double correction = 1;       ///< measured time over predicted time
  double bytes_on_device = 0;  ///< the part of bytes_to that is expected there already
  double fresh_bytes = 0;      ///< the part of the operands' memory that was never used before
  double waiting_s = 0;        ///< for other clients' work
};

/// The time of a remote call, by stage.   Units: seconds
struct PredictedTime {
  double fixed_s = 0;  ///< round trips
  double to_s = 0;     ///< with the comparison of operands that may be there
  double compute_s = 0;
  double from_s = 0;
  double waiting_s = 0;
  double whole_s = 0;  ///< corrected; stages may overlap. 0: unknown
};

/// Predicts the time of a remote call. Without a known link or device rate it returns 0 and no
/// guess.
PredictedTime predict(const Work& work, const Remote& remote) noexcept;

/// The rate at which operands are compared with their copies on the device [byte/s]: XXH3 on one
/// core, with its share of memory traffic.   Source: docs/decisions/0007-residency.md
inline constexpr double kLookBytesPerS = 8e9;

}  // namespace ob::policy
