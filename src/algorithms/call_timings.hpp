#pragma once
// The times and the traffic of an offloaded call.

#include <algorithm>
#include <cstdint>

#include "base/accuracy.hpp"

namespace ob::algorithms {

/// The times and bytes of one call. Copies between the daemon's memory and its device count as
/// transfers to and from the server.
/// Source: RCPU, section 4.1
struct CallTimings {
  std::uint64_t bytes_to = 0;
  std::uint64_t bytes_from = 0;
  std::uint64_t to_server_ns = 0;
  std::uint64_t plan_ns = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t from_server_ns = 0;
  std::uint64_t bytes_kept = 0;            ///< not sent because the device already had them
  std::uint64_t bytes_between = 0;         ///< sent from device to device, not through this process
  std::uint64_t waited_ns = 0;             ///< wait for the device while other sessions computed
  std::uint64_t more_devices = 0;          ///< devices in addition to the first one
  Accuracy accuracy = Accuracy::standard;  ///< accuracy of the computation

  CallTimings& operator+=(const CallTimings& other) noexcept {
    bytes_to += other.bytes_to;
    bytes_from += other.bytes_from;
    bytes_kept += other.bytes_kept;
    bytes_between += other.bytes_between;
    to_server_ns += other.to_server_ns;
    plan_ns += other.plan_ns;
    compute_ns += other.compute_ns;
    waited_ns += other.waited_ns;
    more_devices = std::max(more_devices, other.more_devices);
    from_server_ns += other.from_server_ns;
    return *this;
  }
};

}  // namespace ob::algorithms
