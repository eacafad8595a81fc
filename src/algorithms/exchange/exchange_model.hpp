#pragma once
// The model of devices that work together, and of the links between them.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ob::algorithms {

/// One device.   Units: flop/s of real operations, s, bytes
struct RankModel {
  double flop_per_s = 0;           ///< rate of large products
  double panel_flop_per_s = 0;     ///< rate of the factorization of a panel
  double call_s = 0;               ///< time of each call, besides its operations
  std::uint64_t memory_bytes = 0;  ///< memory that a call may use; 0: no limit
};

/// The route of panels between devices.
enum class Route : unsigned char {
  relay,  ///< through this process: up once, down once for each receiver
  ring,   ///< from device to device; each forwards the panel
};

/// Measured values.   Units: bytes/s, s, bytes
struct ExchangeModel {
  std::vector<RankModel> ranks;
  double to_bytes_per_s = 0;    ///< rate out of this process, all devices together
  double from_bytes_per_s = 0;  ///< rate into this process, all devices together
  double link_bytes_per_s = 0;  ///< rate of one device, in each direction
  double peer_bytes_per_s = 0;  ///< rate in a ring, device to device; 0: that of their links
  double message_s = 0;         ///< time of each block of a copy, besides its bytes
  double handover_s = 0;        ///< time from one thread to another that waits
  double block_bytes = 2 << 20;
  Route route = Route::relay;

  /// The number of device links that together fill the link of this process; 1 if it is unknown.
  std::size_t links_of_client() const noexcept {
    if (to_bytes_per_s <= link_bytes_per_s || link_bytes_per_s <= 0) return 1;
    return static_cast<std::size_t>(to_bytes_per_s / link_bytes_per_s + 0.5);
  }
  bool known() const noexcept {
    if (ranks.empty() || to_bytes_per_s <= 0 || from_bytes_per_s <= 0 || link_bytes_per_s <= 0) {
      return false;
    }
    for (const RankModel& rank : ranks) {
      if (rank.flop_per_s <= 0) return false;
    }
    return true;
  }
};

}  // namespace ob::algorithms
