#pragma once
// The question to the manager of a pool: for the lease that a program was given, or for one that it
// takes itself.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "pool/lease_handles.hpp"
#include "pool/manager_link.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::client {

/// Names a lease, and the manager that knows it.
struct LeaseSource {
  std::string id;           ///< empty: the process takes a lease of its own when it asks
  std::string manager;      ///< its URL
  std::size_t devices = 1;  ///< the most that an own lease asks for
  /// Devices of an own lease do products in double precision at least so fast.   Units: GFLOP/s
  double least_gflops = 0;

  bool is_named() const noexcept { return !id.empty() || !manager.empty(); }
  bool is_own() const noexcept { return id.empty() && !manager.empty(); }
};

/// Asks about one lease, and takes a new one where an own one is over.   Threads: one at a time
class LeaseRequest {
 public:
  explicit LeaseRequest(LeaseSource source) : source_(std::move(source)), id_(source_.id) {}

  /// Returns the lease, with fresh tokens. This renews it.
  /// Errors: fenced if a lease that is not the program's own is over, for good; busy if all devices
  /// are in use: the next question keeps the place in the queue, if it comes within the lease time;
  /// unsupported if the pool has no such device; those of ManagerLink::ask(), and unavailable if
  /// the manager refuses
  Result<pool::LeaseState> ask(const std::shared_ptr<const transport::Security>& security,
                               transport::Deadline deadline);
  /// Gives an own lease back. If this fails, it ends after its lease time.
  void give_back(const std::shared_ptr<const transport::Security>& security,
                 transport::Deadline deadline);

  bool is_own() const noexcept { return source_.is_own(); }
  /// Names the lease for people.
  std::string name() const;

 private:
  Result<pool::LeaseState> answer(pool::ManagerLink& link, std::string_view method,
                                  std::string body, transport::Deadline deadline) const;
  Result<pool::LeaseState> take(pool::ManagerLink& link, transport::Deadline deadline);
  std::string wish(std::size_t devices) const;
  Status too_slow() const;

  const LeaseSource source_;
  std::string id_;  // empty: the next question takes a lease
};

}  // namespace ob::client
