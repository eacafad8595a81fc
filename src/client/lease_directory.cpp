#include "client/lease_directory.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "pool/manager_link.hpp"
#include "pool/registration.hpp"

namespace ob::client {
namespace {

// A token is used again for this part of the time that was left of its lease. The holder renews
// the lease each third of it.
constexpr int kTokenParts = 3;
// A lease without an end has tokens for a day.
constexpr std::int64_t kLongestTokenMs = 86'400'000;

// Sockets of this machine come first; those of others are no use.
std::vector<std::string> in_order(const pool::LeaseHandle& handle) {
  const bool here = !handle.machine.empty() && handle.machine == pool::machine_name();
  const auto is_socket = [](const std::string& address) { return address.starts_with("unix:"); };
  std::vector<std::string> addresses = handle.addresses;
  if (!here) std::erase_if(addresses, is_socket);
  std::ranges::stable_partition(addresses, is_socket);
  return addresses;
}

}  // namespace

std::size_t LeaseDirectory::size() const {
  const std::lock_guard lock(mutex_);
  return std::max<std::size_t>(1, entries_.size());
}

std::string LeaseDirectory::name(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  if (index >= entries_.size()) return "lease " + source_.id;
  const auto addresses = in_order(entries_[index].handle);
  return addresses.empty() ? entries_[index].handle.device : addresses.front();
}

Status LeaseDirectory::over() const {
  return {Code::fenced, "the lease " + source_.id +
                            " does not give this device any more (it was released, has expired, "
                            "or was taken back); calls stay local"};
}

bool LeaseDirectory::is_fresh(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  return index < entries_.size() && !entries_[index].dropped && Clock::now() < renew_at_;
}

Result<LeaseTicket> LeaseDirectory::known(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  if (index >= entries_.size() || entries_[index].dropped) return over();
  const pool::LeaseHandle& handle = entries_[index].handle;
  LeaseTicket ticket{in_order(handle), handle.token};
  if (!ticket.addresses.empty()) return ticket;
  return Status(Code::unavailable, "the daemon " + handle.daemon +
                                       " has no address that this machine reaches; start it with "
                                       "--advertise HOST:PORT");
}

Result<LeaseTicket> LeaseDirectory::ticket(
    std::size_t index, const std::shared_ptr<const transport::Security>& security) {
  const auto came = Clock::now();
  const std::lock_guard lock(asking_);
  if (is_over_) return over();
  if (is_fresh(index)) return known(index);
  // Whoever waited for a question that failed does not ask the same.
  const Status asked = failed_at_ > came ? failure_ : ask(security);
  if (is_over_) return over();
  // The daemon judges an old token. It may be good while the manager is away.
  auto ticket = known(index);
  return asked.ok() || ticket.ok() ? ticket : Result<LeaseTicket>(asked);
}

void LeaseDirectory::drop(std::size_t index, const std::string& token) {
  const std::lock_guard lock(mutex_);
  // The manager may have given the device anew since.
  if (entries_[index].handle.token == token) entries_[index].dropped = true;
}

Result<pool::LeaseState> LeaseDirectory::answer(
    const std::shared_ptr<const transport::Security>& security) {
  OB_ASSIGN_OR_RETURN(auto manager, pool::ManagerAddress::parse(source_.manager));
  pool::ManagerLink link(std::move(manager), security);
  const std::string target =
      "/v1/leases/" + pool::percent_encoded(source_.id) + "?uid=" + std::to_string(::geteuid());
  OB_ASSIGN_OR_RETURN(const auto response, link.ask("GET", target, {}, Clock::now() + kPatience));
  if (!response.ok()) {
    const pool::Problem problem = pool::problem_of(response);
    is_over_ = problem.name == "lease-over" || problem.name == "unknown";
    return Status(Code::unavailable, problem.detail);
  }
  OB_ASSIGN_OR_RETURN(pool::LeaseState lease, pool::read_lease(response.body));
  if (lease.state != "queued") return lease;
  return Status(Code::unavailable, "the lease " + source_.id + " waits for devices");
}

Status LeaseDirectory::ask(const std::shared_ptr<const transport::Security>& security) {
  const auto asked = Clock::now();
  auto lease = answer(security);
  if (lease.ok()) {
    take(std::move(lease).value(), asked);
    return {};
  }
  failed_at_ = Clock::now();
  failure_ = lease.status();
  return failure_;
}

void LeaseDirectory::take(pool::LeaseState lease, Clock::time_point asked) {
  const std::int64_t left_ms =
      std::clamp<std::int64_t>(lease.end_ms - lease.now_ms, 0, kLongestTokenMs);
  renew_at_ = asked + std::chrono::milliseconds(left_ms) / kTokenParts;
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    const auto same =
        std::ranges::find(lease.handles, entry.handle.device, &pool::LeaseHandle::device);
    if (same == lease.handles.end()) {
      entry.dropped = true;
      continue;
    }
    if (same->epoch != entry.handle.epoch) entry.dropped = false;
    entry.handle = std::move(*same);
    lease.handles.erase(same);
  }
  for (pool::LeaseHandle& handle : lease.handles) {
    if (entries_.size() < kMostDevices) entries_.push_back({std::move(handle), false});
  }
}

}  // namespace ob::client
