#pragma once
// The devices of a lease, as the manager tells its holder (docs/pool-openapi.json: LeaseAnswer).

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ob::pool {

/// One device of a lease.
struct LeaseHandle {
  std::string device;
  std::string daemon;
  std::vector<std::string> addresses;  ///< of the daemon
  std::string machine;                 ///< machine_name() there
  std::uint64_t epoch = 0;
  std::string token;  ///< opens sessions on the device

  /// Returns the addresses that this machine can reach, sockets of its own first.
  std::vector<std::string> reachable() const;
  /// Returns the failure if there is none.
  Status unreachable() const;
};

/// A lease as it was when the manager answered. Times are pool time [ms].
struct LeaseState {
  std::string state;  ///< "queued", "held", "ending"
  std::int64_t now_ms = 0;
  std::int64_t end_ms = 0;  ///< then its tokens are worth nothing, unless it is renewed
  std::vector<LeaseHandle> handles;

  /// Returns the time that was left then; at most a day, for which tokens are good.
  std::chrono::milliseconds left() const noexcept;
  /// Returns the time after which the lease is renewed, and its tokens are old. Two renewals may
  /// fail until it ends.
  std::chrono::milliseconds until_renewal() const noexcept { return left() / 3; }
};

/// Errors: protocol_error; the message names what is missing
Result<LeaseState> read_lease(std::string_view json);

}  // namespace ob::pool
