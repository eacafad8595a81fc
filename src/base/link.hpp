#pragma once
// What a connection costs.

#include <cstdint>

namespace ob {

/// Measured, never guessed; all zero if not measured yet.
struct Link {
  double round_trip_s = 0;
  double to_bytes_per_s = 0;
  double from_bytes_per_s = 0;
  bool known() const noexcept { return to_bytes_per_s > 0; }
};

}  // namespace ob
