#pragma once
// Where the time of an offloaded call went.

#include <algorithm>
#include <cstdint>

#include "base/accuracy.hpp"

namespace ob::algorithms {

/// Source: RCPU, section 4.1 (copies between the daemon's memory and its device are part of to and
/// from here).
struct CallTimings {
  std::uint64_t bytes_to = 0;
  std::uint64_t bytes_from = 0;
  std::uint64_t to_server_ns = 0;
  std::uint64_t plan_ns = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t from_server_ns = 0;
  std::uint64_t bytes_kept = 0;            ///< did not travel: were on the device already
  std::uint64_t bytes_between = 0;         ///< from device to device, past this process
  std::uint64_t waited_ns = 0;             ///< for its turn, while others computed
  std::uint64_t more_devices = 0;          ///< than one, for the whole call
  Accuracy accuracy = Accuracy::standard;  ///< of what was computed

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
