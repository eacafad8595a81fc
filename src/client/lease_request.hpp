#pragma once
// The question to the manager of a pool: for the lease that a program was given, or for one that it
// takes itself.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "pool/lease_client.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::client {

/// Names a lease, and the manager that knows it.
struct LeaseSource {
  std::string id;       ///< empty: the process takes a lease of its own when it asks
  std::string manager;  ///< its URL
  /// The file of pool::take_over(), before the first question. Empty: none.
  std::string answer = {};
  /// The most that an own lease asks for. Of a lease that is named, the devices of each rank.
  std::size_t devices = 1;
  /// The processes of an MPI program share a lease that is named: each has other devices of it, or,
  /// with one each, takes turns if there are fewer devices than processes. Empty: one process.
  std::optional<unsigned> rank = std::nullopt;
  /// Devices of an own lease do products in double precision at least so fast.   Units: GFLOP/s
  double least_gflops = 0;

  bool is_named() const noexcept { return !id.empty() || !manager.empty(); }
  bool is_own() const noexcept { return id.empty() && !manager.empty(); }
};

/// Asks about one lease, and takes a new one where an own one is over.   Threads: one at a time
class LeaseRequest {
 public:
  explicit LeaseRequest(LeaseSource source) : source_(std::move(source)), id_(source_.id) {}

  /// Returns the lease, with fresh tokens. This renews it. The manager hears first what was seen.
  /// Errors: fenced if a lease that is not the program's own is over, for good; busy if all devices
  /// are in use: the next question keeps the place in the queue, if it comes within the lease time;
  /// unsupported if the pool has no such device; those of ManagerLink::ask(), and unavailable if
  /// the manager refuses
  Result<pool::LeaseState> ask(const std::shared_ptr<const transport::Security>& security,
                               pool::Sightings seen, transport::Deadline deadline);
  /// Gives an own lease back. If this fails, it ends after its lease time.
  void give_back(const std::shared_ptr<const transport::Security>& security,
                 const pool::Sightings& seen, transport::Deadline deadline);

  bool is_own() const noexcept { return source_.is_own(); }
  /// True if each rank of an MPI program has its part of the lease, which may be nothing.
  bool is_divided() const noexcept { return source_.rank.has_value(); }
  /// Names the lease for people.
  std::string name() const;

 private:
  Result<pool::LeaseState> take(pool::LeaseClient& manager, transport::Deadline deadline);
  Result<pool::LeaseState> renewed(pool::LeaseClient& manager, transport::Deadline deadline);
  Status too_slow() const;
  Status in_use() const;

  const LeaseSource source_;
  std::string id_;           // empty: the next question takes a lease
  bool has_waited_ = false;  // for an answer from `outboard run`
  bool is_handed_over_ = false;
};

}  // namespace ob::client
