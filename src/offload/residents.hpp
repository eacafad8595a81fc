#pragma once
// Operands that stay on devices between calls.

#include <array>
#include <atomic>
#include <cstdint>

#include "algorithms/residency/residency.hpp"
#include "base/page_tracker.hpp"
#include "client/connection_cache.hpp"
#include "offload/config.hpp"
#include "offload/report.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// Things that the copies over all connections of an engine share.   Memory: outlives the
/// connections
struct ResidencySupport {
  PageTracker pages;
  /// Connections that keep copies, by server and device. Two devices with the same number count
  /// together: each gets less memory for copies than it could have.
  static constexpr std::size_t kCounters = 256;
  std::array<std::atomic<unsigned>, kCounters> users{};
};

/// The copies of operands on the devices of all connections.
class Residents {
 public:
  Residents(const Config& config, client::ConnectionCache& connections, Report& report,
            ResidencySupport& support) noexcept
      : config_(config), connections_(connections), report_(report), support_(support) {}

  /// The copies over this connection; nullptr if Config::resident_bytes forbids any. An unknown
  /// rate of the link counts as slow.
  /// Threads: as the acquired device   Memory: lives as long as the connection
  algorithms::Residency* of(client::AcquiredDevice& acquired);

  /// Frees the memory that the connection keeps on the device between calls, as far as no call uses
  /// it.
  /// @returns false if there was none, or the connection is broken   Threads: as above
  bool release(client::AcquiredDevice& acquired);

  /// The bytes of operands that the call reads and that are expected to be on the device of an idle
  /// connection to `server` already; 0 if nothing is known.   Threads: any
  double bytes_on_device(std::size_t server, const Descriptor& routine,
                         const Argument* arguments) const noexcept;

 private:
  std::atomic<unsigned>& users_of(const client::AcquiredDevice& acquired) const noexcept;
  PageTracker* tracker();

  const Config& config_;
  client::ConnectionCache& connections_;
  Report& report_;
  ResidencySupport& support_;
};

}  // namespace ob::offload
