#pragma once
// The manager of a pool wants a daemon to enforce this state (docs/pool.md, "Words").

#include <cstdint>
#include <string>
#include <vector>

namespace ob::pool {

/// A lease that lives on a device.
struct DesiredLease {
  std::uint64_t epoch = 0;
  std::int64_t end_ms = 0;  ///< pool time, unless its holder renews
  std::uint64_t memory_bytes = 0;
  std::uint64_t share = 0;  ///< per mille
};

struct DesiredDevice {
  std::string id;
  std::uint64_t floor = 0;  ///< the least epoch that the device serves
  std::vector<DesiredLease> leases;
  bool closed = false;  ///< broken, or an administrator has closed it: nothing new may use it
  bool broken = false;  ///< until self-tests, or an administrator, mend it
};

/// The whole state, as each answer of the manager brings it. Numbers are at most 2^63 - 1.
struct DesiredState {
  std::int64_t rev = 0;     ///< the revision that made it
  std::int64_t now_ms = 0;  ///< pool time when it was read
  std::vector<DesiredDevice> devices;
  bool restart = false;  ///< the daemon is to end, so that it is started again
};

}  // namespace ob::pool
