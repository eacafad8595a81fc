#pragma once
// What is known of devices that work together and of the ways between them.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ob::algorithms {

/// One device.   Units: flop/s of real operations, s, bytes
struct RankModel {
  double flop_per_s = 0;           ///< of large products and of what is made of them
  double panel_flop_per_s = 0;     ///< of the factorization of a panel
  double call_s = 0;               ///< each call, besides its operations
  std::uint64_t memory_bytes = 0;  ///< that a call may take; 0: no limit
};

/// How what one device has gets to the others.
enum class Route : unsigned char {
  relay,  ///< through this process: up once, down once for each of them
  ring,   ///< from device to device, each handing on what it gets
};

/// Measured, never guessed.   Units: bytes/s, s, bytes
struct ExchangeModel {
  std::vector<RankModel> ranks;
  double to_bytes_per_s = 0;    ///< out of this process, all devices together
  double from_bytes_per_s = 0;  ///< into this process, likewise
  double link_bytes_per_s = 0;  ///< of one device, each direction
  double peer_bytes_per_s = 0;  ///< from one device to another in a ring; 0: as their links
  double message_s = 0;         ///< each block of a copy, besides its bytes
  double handover_s = 0;        ///< from one thread to another that waits
  double block_bytes = 2 << 20;
  Route route = Route::relay;

  /// How many devices' links it takes to fill that of this process; 1 if nothing is known.
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
