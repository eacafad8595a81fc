#include "client/lease_request.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "pool/lease_answer.hpp"
#include "pool/random_name.hpp"

namespace ob::client {
namespace {

constexpr std::chrono::milliseconds kAskAgain{50};

}  // namespace

std::string LeaseRequest::name() const {
  return is_own() ? "the pool at " + source_.manager : "lease " + source_.id;
}

Status LeaseRequest::too_slow() const {
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), "%.3g", source_.least_gflops);
  return {Code::unsupported, name() + " has no device with " + rate.data() +
                                 " GFLOP/s or more (slower ones gain little over this machine's "
                                 "cores); OUTBOARD_POOL_GFLOPS=0 takes any"};
}

Status LeaseRequest::in_use() const {
  return {Code::busy, name() + " has no free device now (others hold them)"};
}

// The manager grants all devices of a request or none.
Result<pool::LeaseState> LeaseRequest::take(pool::LeaseClient& manager,
                                            transport::Deadline deadline) {
  pool::LeaseWish wish{.devices = std::max<std::size_t>(1, source_.devices),
                       .kind = {},
                       .least_gflops = source_.least_gflops};
  for (;; --wish.devices) {
    id_ = pool::random_name();
    if (id_.empty()) return Status(Code::internal, "no random numbers for the name of a lease");
    auto lease = manager.put(id_, wish, 0, deadline);
    const bool never_fits = lease.status().code() == Code::unsupported;
    if (never_fits) id_.clear();
    if (!lease.ok() && !never_fits) return lease;
    if (lease.ok() && lease->state != "queued") return lease;
    if (wish.devices == 1) return never_fits ? too_slow() : in_use();
    if (!never_fits) OB_RETURN_IF_ERROR(manager.release(id_, deadline));
  }
}

Result<pool::LeaseState> LeaseRequest::renewed(pool::LeaseClient& manager,
                                               transport::Deadline deadline) {
  std::optional<pool::LeaseRank> rank;
  // Several devices for each are distinct ones; single ones are taken in turns.
  if (!is_own() && source_.rank) rank = {*source_.rank, source_.devices > 1 ? source_.devices : 0};
  return manager.get(id_, rank, 0, deadline);
}

Result<pool::LeaseState> LeaseRequest::ask(
    const std::shared_ptr<const transport::Security>& security, pool::Sightings seen,
    transport::Deadline deadline) {
  bool may_come_later = false;
  if (!source_.answer.empty() && !is_handed_over_) {
    auto lease = pool::take_over(source_.answer, has_waited_ ? transport::Clock::now() : deadline);
    const Code code = lease.status().code();
    // Once: a killed `outboard run` leaves a folder in which no answer comes.
    if (code == Code::deadline_exceeded && !has_waited_) {
      has_waited_ = true;
      return lease;
    }
    is_handed_over_ = true;
    // Each rank has its part from the manager.
    if (code == Code::fenced || (lease.ok() && !source_.rank)) return lease;
    // On another machine than `outboard run`, which may still ask for the lease.
    may_come_later = !lease.ok();
  }
  OB_ASSIGN_OR_RETURN(auto manager, pool::LeaseClient::at(source_.manager, security));
  if (!seen.empty()) (void)manager.report(id_, seen, deadline);  // else it is not known
  if (!id_.empty()) {
    auto lease = renewed(manager, deadline);
    while (may_come_later && lease.status().code() == Code::fenced &&
           transport::Clock::now() + kAskAgain < deadline) {
      std::this_thread::sleep_for(kAskAgain);
      lease = renewed(manager, deadline);
    }
    if (lease.ok() && lease->state == "queued") return in_use();
    const bool is_over =
        lease.ok() ? lease->state != "held" : lease.status().code() == Code::fenced;
    if (!is_own() || !is_over) return lease;
  }
  return take(manager, deadline);
}

void LeaseRequest::give_back(const std::shared_ptr<const transport::Security>& security,
                             const pool::Sightings& seen, transport::Deadline deadline) {
  if (!is_own() || id_.empty()) return;
  auto manager = pool::LeaseClient::at(source_.manager, security);
  if (manager.ok()) (void)manager->release_early(id_, deadline);
  if (manager.ok() && !seen.empty()) (void)manager->report({}, seen, deadline);
  id_.clear();
}

}  // namespace ob::client
