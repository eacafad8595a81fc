#pragma once
// Holders of leases ask the manager these questions (docs/pool-openapi.json: /v1/leases).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "pool/lease_handles.hpp"
#include "pool/manager_link.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::pool {

/// A new lease asks for all of this or nothing.
struct LeaseWish {
  std::size_t devices = 1;
  std::string kind;            ///< "cuda"; empty: any
  double least_gflops = 0;     ///< of each device, for products in double precision [GFLOP/s]
  bool exclusive = true;       ///< nobody else uses the devices
  unsigned share = 1000;       ///< else the weight on each device, per mille
  std::uint64_t memory = 0;    ///< of each device [bytes]; the limit if it is shared
  std::uint64_t seconds = 30;  ///< the lease ends so long after its last renewal
  bool before_start = false;   ///< of a job, which then keeps its devices to its end
  bool replaced = false;       ///< a device that is lost or broken is replaced by another
};

/// The process of a job that asks for its part of the job's lease.
struct LeaseRank {
  unsigned number = 0;
  std::size_t devices = 0;  ///< of each process; 0: they take turns on all devices
};

/// A holder tells the manager this, which grants devices with quick links first.
struct Sightings {
  struct MeasuredLink {
    std::string daemon;
    double round_trip_s = 0;
    double bytes_per_s = 0;
  };
  std::vector<MeasuredLink> links;       ///< from this machine
  std::vector<std::string> unreachable;  ///< devices of the lease

  bool empty() const noexcept { return links.empty() && unreachable.empty(); }
};

/// Asks one manager.
/// Errors, of all: fenced if there is no such lease any more; unsupported if the pool has no such
/// devices; unavailable if the manager refuses, with its words; those of ManagerLink::ask()
/// Threads: one at a time
class LeaseClient {
 public:
  /// @param manager its URL   @param security the key of this program; nullptr: none
  /// Errors: those of ManagerAddress::parse()
  static Result<LeaseClient> at(const std::string& manager,
                                const std::shared_ptr<const transport::Security>& security);

  /// Asks for a lease of this id. Asked again with the same wish, it returns the same lease.
  /// @param wait_s the manager waits so long for devices, at most 30 s
  Result<LeaseState> put(std::string_view id, const LeaseWish& wish, double wait_s,
                         transport::Deadline deadline);
  /// Returns the lease with fresh tokens, which renews it.
  Result<LeaseState> get(std::string_view id, std::optional<LeaseRank> rank, double wait_s,
                         transport::Deadline deadline);
  /// Tells what was seen, and renews the lease. `id` may be empty. The lease loses devices that are
  /// unreachable for the manager, too.
  Status report(std::string_view id, const Sightings& seen, transport::Deadline deadline);
  /// Gives one device back.
  Status shrink(std::string_view id, std::string_view device, transport::Deadline deadline);
  /// Gives all devices back. They stay given back if the manager dies then.
  Status release(std::string_view id, transport::Deadline deadline);
  /// Gives all devices back, for those who are about to end. The manager answers before it stores
  /// that, and tells no error of it. If it dies then, the lease ends after its lease time.
  Status release_early(std::string_view id, transport::Deadline deadline);

 private:
  explicit LeaseClient(std::unique_ptr<ManagerLink> link) : link_(std::move(link)) {}
  Result<HttpResponse> ask(std::string_view method, const std::string& target, std::string body,
                           transport::Deadline deadline);
  Result<LeaseState> ask_for_lease(std::string_view method, const std::string& target,
                                   std::string body, transport::Deadline deadline);

  std::unique_ptr<ManagerLink> link_;
};

}  // namespace ob::pool
