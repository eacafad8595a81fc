#include "client/lease_directory.hpp"

#include <algorithm>
#include <utility>

namespace ob::client {
namespace {

// After a renewal that failed.
constexpr std::chrono::seconds kRenewAgain{2};

}  // namespace

std::size_t LeaseDirectory::size() const {
  const std::lock_guard lock(mutex_);
  return std::max<std::size_t>(1, entries_.size());
}

std::string LeaseDirectory::name(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  if (index >= entries_.size()) return request_.name();
  const auto addresses = entries_[index].handle.reachable();
  return addresses.empty() ? entries_[index].handle.device : addresses.front();
}

bool LeaseDirectory::is_retired(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  const bool is_dropped = index < entries_.size() && entries_[index].dropped;
  // One is left, so that the manager is asked for others.
  return is_dropped && (index > 0 || !std::ranges::all_of(entries_, &Entry::dropped));
}

bool LeaseDirectory::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return is_waiting_;
}

// @pre the caller holds mutex_
Status LeaseDirectory::no_device() const {
  if (is_waiting_) {
    return {Code::unavailable, request_.name() +
                                   " has no device now (its last one was lost); calls run locally "
                                   "until it has another"};
  }
  return over();
}

Status LeaseDirectory::over() const {
  return {Code::fenced, request_.name() +
                            " does not give this device any more (it was released, has expired, "
                            "or was taken back); calls stay local"};
}

bool LeaseDirectory::is_unreachable(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  return index < entries_.size() && entries_[index].unreachable;
}

// @pre the caller holds mutex_
bool LeaseDirectory::is_known(std::size_t index, Clock::time_point until) const {
  return index < entries_.size() && !entries_[index].dropped && Clock::now() < until;
}

// @pre the caller holds mutex_
Result<LeaseTicket> LeaseDirectory::known(std::size_t index) const {
  if (index >= entries_.size() || entries_[index].dropped) return no_device();
  const pool::LeaseHandle& handle = entries_[index].handle;
  LeaseTicket ticket{handle.reachable(), handle.token};
  if (ticket.addresses.empty()) return handle.unreachable();
  return ticket;
}

Result<LeaseTicket> LeaseDirectory::held_now(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  if (is_known(index, ends_at_)) return known(index);
  return Status(Code::declined, "no device of " + request_.name() + " is held now");
}

// Returns nothing if the manager is to be asked first.
std::optional<Result<LeaseTicket>> LeaseDirectory::known_without_asking(std::size_t index) const {
  const std::lock_guard lock(mutex_);
  if (!is_known(index, renew_at_)) return std::nullopt;
  // The manager may give another device in place of one that is unreachable.
  if (entries_[index].unreachable && Clock::now() >= asked_at_ + kPause) return std::nullopt;
  return known(index);
}

Result<LeaseTicket> LeaseDirectory::ticket(
    std::size_t index, const std::shared_ptr<const transport::Security>& security, Asking asking) {
  const auto came = Clock::now();
  if (asking == Asking::never) return held_now(index);
  // Whoever needs no answer does not wait for those who ask.
  if (auto ticket = known_without_asking(index)) return *std::move(ticket);
  const std::lock_guard lock(asking_);
  if (is_over_) return over();
  // Somebody may have asked meanwhile.
  if (auto ticket = known_without_asking(index)) return *std::move(ticket);
  const bool was_unreachable = is_unreachable(index);
  // Whoever waited for a question that failed does not ask the same.
  const Status asked = failed_at_ > came ? failure_ : ask(security);
  if (is_over_) return over();
  // A call waits for one of both in vain, not for one after the other. The next one tries the
  // device.
  if (!asked.ok() && was_unreachable) return asked;
  // The daemon judges an old token. It may be good while the manager is away.
  auto ticket = [&] {
    const std::lock_guard lock_entries(mutex_);
    return known(index);
  }();
  return asked.ok() || ticket.ok() ? ticket : Result<LeaseTicket>(asked);
}

void LeaseDirectory::drop(std::size_t index, const std::string& token) {
  const std::lock_guard lock(mutex_);
  // The manager may have given the device anew since.
  if (entries_[index].handle.token == token) entries_[index].dropped = true;
}

void LeaseDirectory::note_link(std::size_t index, const Link& link) {
  if (!link.known() || !(link.from_bytes_per_s > 0)) return;
  const std::lock_guard lock(mutex_);
  if (index >= entries_.size() || unsaid_.links.size() >= kMostDevices) return;
  const double both_s_per_byte = 1 / link.to_bytes_per_s + 1 / link.from_bytes_per_s;
  unsaid_.links.push_back(
      {entries_[index].handle.daemon, std::max(1e-9, link.round_trip_s), 2 / both_s_per_byte});
}

void LeaseDirectory::note_unreachable(std::size_t index) {
  const std::lock_guard lock(mutex_);
  if (index < entries_.size()) entries_[index].unreachable = true;
}

bool LeaseDirectory::is_old() const {
  if (!request_.is_own()) return false;
  const std::lock_guard lock(mutex_);
  return !std::ranges::all_of(entries_, &Entry::dropped) && Clock::now() >= renew_at_;
}

Status LeaseDirectory::renew(const std::shared_ptr<const transport::Security>& security) {
  const std::lock_guard lock(asking_);
  return is_old() ? ask(security) : Status();
}

void LeaseDirectory::give_back(const std::shared_ptr<const transport::Security>& security,
                               transport::Deadline deadline) {
  const std::unique_lock lock(asking_, std::try_to_lock);
  if (!lock.owns_lock() || !request_.is_own()) return;
  pool::Sightings seen = unsaid();
  seen.unreachable.clear();  // of a lease that is over
  request_.give_back(security, seen, deadline);
  drop_all();
}

void LeaseDirectory::drop_all() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) entry.dropped = true;
}

// Returns what the manager is to hear now.
pool::Sightings LeaseDirectory::unsaid() {
  const std::lock_guard lock(mutex_);
  asked_at_ = Clock::now();
  pool::Sightings seen = std::exchange(unsaid_, {});
  for (Entry& entry : entries_) {
    if (std::exchange(entry.unreachable, false)) seen.unreachable.push_back(entry.handle.device);
  }
  return seen;
}

Status LeaseDirectory::ask(const std::shared_ptr<const transport::Security>& security) {
  const auto asked = Clock::now();
  auto lease = request_.ask(security, unsaid(), asked + kPatience);
  const Code code = lease.status().code();
  is_over_ = code == Code::fenced;
  if (is_over_) drop_all();
  if (lease.ok()) {
    take(std::move(lease).value(), asked);
    return {};
  }
  failed_at_ = Clock::now();
  failure_ =
      code == Code::busy ? Status(Code::unavailable, lease.status().message()) : lease.status();
  const std::lock_guard lock(mutex_);
  // A manager that does not answer has not said that there is nothing to wait for.
  if (code == Code::busy) is_waiting_ = request_.is_own();
  if (code == Code::fenced || code == Code::unsupported) is_waiting_ = false;
  renew_at_ = std::max(renew_at_, failed_at_ + kRenewAgain);  // tokens may be good for longer
  return failure_;
}

void LeaseDirectory::take(pool::LeaseState lease, Clock::time_point asked) {
  const std::lock_guard lock(mutex_);
  // The part of a rank may be nothing for ever.
  is_waiting_ = lease.handles.empty() && !(request_.is_divided() && entries_.empty());
  renew_at_ = asked + lease.until_renewal();
  ends_at_ = asked + lease.left();
  for (Entry& entry : entries_) {
    const auto same =
        std::ranges::find(lease.handles, entry.handle.device, &pool::LeaseHandle::device);
    if (same == lease.handles.end()) {
      entry.dropped = true;
      entry.handle.epoch = 0;  // it may come back with the same one
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
