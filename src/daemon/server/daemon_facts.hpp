#pragma once
// The state of a daemon at one moment, for its metrics.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/use_counter.hpp"
#include "daemon/io/daemon_counters.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// A device, with what all its sessions have used since the daemon started.
struct ServedDeviceFacts {
  std::string backend;
  std::uint64_t memory_bytes = 0;  ///< of the device, or the part that it offers
  MemoryUse memory;
  std::size_t sessions = 0;
  std::size_t unleased_sessions = 0;  ///< those without a lease, at a daemon of a pool
  unsigned turns = 0;                 ///< computations that run or wait for their turn
  std::uint64_t executor_deaths = 0;
  Use use;
};

/// Memory: refers to the server, which outlives it
struct DaemonFacts {
  std::chrono::system_clock::time_point started;
  std::size_t members = 0;     ///< connections after their handshake
  std::size_t handshakes = 0;  ///< connections before its end
  std::vector<ServedDeviceFacts> devices;
  const DaemonCounters& counters;
};

}  // namespace ob::daemon
