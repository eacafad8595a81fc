#include "daemon/lease_gate/lease_gate.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/lease_gate/lease_rules.hpp"

namespace ob::daemon {
namespace {

using pool::DesiredDevice;
using pool::DesiredState;
using pool::LeaseClaims;

// The error of the daemon's estimate of pool time is below this.
constexpr std::int64_t kExpirySlackMs = 1'000;
// Clocks that differ by 500 ppm need 14 days without word from the manager to differ by this.
constexpr std::int64_t kFutureSlackMs = 600'000;

}  // namespace

// --- refusals ------------------------------------------------------------------------------------

const char* to_string(Refusal why) noexcept {
  static constexpr std::array kNames{"starting", "denied", "fenced", "expired",
                                     "fencing",  "full",   "held"};
  return kNames[static_cast<std::size_t>(why)];
}

Status Refused::status() const {
  static constexpr std::array kCodes{Code::unavailable, Code::denied, Code::fenced, Code::fenced,
                                     Code::busy,        Code::busy,   Code::busy};
  return {kCodes[static_cast<std::size_t>(why)], sentence};
}

LeaseGate::Refusals LeaseGate::refuse_all() const {
  if (!pool_.empty() && rev_ >= 0) return std::nullopt;
  return Refused{Refusal::starting,
                 "the daemon serves nobody yet (it has not registered with the pool's manager) try "
                 "again in a few seconds"};
}

LeaseGate::Refusals LeaseGate::refuse_stranger(const LeaseClaims& claims, std::string_view user,
                                               std::int64_t now_ms) const {
  const auto denied = [](const std::string& why) {
    return Refused{Refusal::denied, "the lease is refused (" + why +
                                        ") ask the pool's manager for a lease of this daemon"};
  };
  if (claims.pool != pool_) return denied("it is of another pool than " + pool_);
  if (claims.daemon != config_.daemon) return denied("it is not for daemon " + config_.daemon);
  if (!may_present(claims, user)) {
    return denied("it is of another holder than " +
                  (user.empty() ? "this client, who has proven nothing" : std::string(user)));
  }
  if (const char* const why = nonsense_in(claims)) return denied(why);
  if (claims.issued_ms - kFutureSlackMs > now_ms) {
    return denied("it was made more than 600 s from now");
  }
  return std::nullopt;
}

LeaseGate::Refusals LeaseGate::refuse_end(const Device& device, const LeaseClaims& claims,
                                          std::int64_t now_ms) const {
  if (is_over(device, claims.epoch, claims.rev)) {
    return Refused{Refusal::fenced,
                   "the lease is over (it ended, or the device was given to others) ask the pool's "
                   "manager for another one"};
  }
  if (!in_time(device, claims.epoch, claims.end_ms, now_ms)) {
    return Refused{Refusal::expired,
                   "the time of the lease token is over (it was not renewed) ask the pool's "
                   "manager for a fresh one"};
  }
  return std::nullopt;
}

// All tokens of an epoch say the same as each other, and as the manager's list.
LeaseGate::Refusals LeaseGate::refuse_terms(const Device& device, const LeaseClaims& claims) const {
  const auto denied = [](const char* other) {
    return Refused{Refusal::denied, std::string("the lease is refused (") + other +
                                        " has other terms for it) look into the manager's log"};
  };
  const auto listed = device.listed.find(claims.epoch);
  if (listed != device.listed.end() && (listed->second.memory_bytes != claims.memory_bytes ||
                                        listed->second.share != claims.share)) {
    return denied("the manager");
  }
  const LeaseTerms terms = terms_of(claims);
  for (const auto& [id, session] : device.sessions) {
    const LeaseTerms& others = session.account->terms();
    if (others.epoch == terms.epoch && others != terms) return denied("an open session");
  }
  return std::nullopt;
}

LeaseGate::Refusals LeaseGate::refuse_room(const Device& device, const LeaseClaims& claims) const {
  const auto full = [](const char* what) {
    return Refused{Refusal::full, std::string("the lease has no room (") + what +
                                      ") close a session, or ask the pool's manager for another"};
  };
  std::map<std::uint64_t, const LeaseTerms*> others;
  std::uint64_t own_sessions = 0;
  for (const auto& [id, session] : device.sessions) {
    const LeaseTerms& terms = session.account->terms();
    if (terms.epoch == claims.epoch) ++own_sessions;
    if (terms.epoch != claims.epoch) others[terms.epoch] = &terms;
  }
  if (own_sessions >= claims.sessions) return full("all its sessions are open");
  if (claims.memory_bytes > device.about.memory_bytes) return full("the device has less memory");
  std::uint64_t share_left = kWholeShare - claims.share;
  std::uint64_t memory_left = device.about.memory_bytes - claims.memory_bytes;
  for (const auto& [epoch, terms] : others) {
    if (claims.exclusive || terms->exclusive) return full("another lease has the device");
    if (terms->share > share_left) return full("other leases have the device's share");
    if (terms->memory_bytes > memory_left) return full("other leases have the device's memory");
    share_left -= terms->share;
    memory_left -= terms->memory_bytes;
  }
  return std::nullopt;
}

// --- the state machine ---------------------------------------------------------------------------

LeaseGate::LeaseGate(Config config) : config_(std::move(config)) {
  for (const GatedDevice& device : config_.devices) devices_.push_back({device, 0, {}, {}});
}

Status LeaseGate::set_pool(const std::string& pool) {
  if (pool.empty()) return senseless("it names no pool");
  if (!pool_.empty() && pool != pool_) {
    return {Code::denied, "the manager is refused (it is of another pool than " + pool_ +
                              ", which this daemon has joined) start the daemon again"};
  }
  pool_ = pool;
  return {};
}

Status LeaseGate::apply(const DesiredState& desired, std::int64_t now_ms) {
  OB_ASSIGN_OR_RETURN(std::vector<Listed> listed, read_leases(desired));
  heard_ms_ = std::max(heard_ms_, now_ms);
  if (std::pair(desired.rev, desired.now_ms) < std::pair(rev_, state_ms_)) return {};
  rev_ = desired.rev;
  state_ms_ = desired.now_ms;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].listed = std::move(listed[i]);
    devices_[i].closed = true;
  }
  for (const DesiredDevice& wanted : desired.devices) {
    Device* const device = find(wanted.id);
    if (device == nullptr) continue;
    device->floor = std::max(device->floor, wanted.floor);
    device->closed = wanted.closed;
  }
  for (Device& device : devices_) {
    for (auto& [id, session] : device.sessions) {
      if (is_over(device, session.epoch(), session.rev)) cut_off(id, *session.shared);
    }
    if (device.closed || is_held(device)) end_unleased(device);
  }
  return {};
}

// Returns the leases of each device of the gate. A device that is not listed has none.
Result<std::vector<LeaseGate::Listed>> LeaseGate::read_leases(const DesiredState& desired) const {
  if (desired.rev < 0 || desired.now_ms < 0) return senseless("its revision or time is negative");
  std::map<std::string_view, const DesiredDevice*> by_id;
  std::vector<std::string_view> twice;
  for (const DesiredDevice& device : desired.devices) {
    if (!by_id.emplace(device.id, &device).second) twice.push_back(device.id);
  }
  std::vector<Listed> all(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const std::string& id = devices_[i].about.id;
    if (std::ranges::find(twice, id) != twice.end()) return senseless("it has a device twice");
    const auto wanted = by_id.find(id);
    if (wanted == by_id.end()) continue;
    OB_ASSIGN_OR_RETURN(all[i], leases_by_epoch(*wanted->second));
  }
  return all;
}

LeaseGate::Answer LeaseGate::admit(const LeaseClaims& claims, std::string_view user,
                                   std::int64_t now_ms) {
  if (auto refused = refuse_all()) return *refused;
  if (auto refused = refuse_stranger(claims, user, now_ms)) return *refused;
  Device* const device = find(claims.device);
  if (device == nullptr) {
    return Refused{Refusal::denied,
                   "the lease is refused (this daemon has not its device) ask the pool's manager "
                   "for another one"};
  }
  if (auto refused = refuse_end(*device, claims, now_ms)) return *refused;
  if (auto refused = refuse_terms(*device, claims)) return *refused;
  device->token_rev = std::max(device->token_rev, claims.rev);
  raise_floor(*device, claims.floor);
  end_unleased(*device);
  const auto is_older = [&](const auto& entry) { return entry.second.epoch() < device->floor; };
  if (!device->unleased.empty() || std::ranges::any_of(device->sessions, is_older)) {
    return Refused{Refusal::fencing,
                   "the device is not free yet (a command of an earlier session still runs) try "
                   "again in a moment"};
  }
  if (auto refused = refuse_room(*device, claims)) return *refused;
  return open(*device, claims);
}

Admission LeaseGate::open(Device& device, const LeaseClaims& claims) {
  Session session{std::make_shared<LeaseSession>(), nullptr, claims.end_ms, claims.rev};
  for (const auto& [id, other] : device.sessions) {
    if (other.epoch() == claims.epoch) session.account = other.account;
  }
  LeaseUse& use = device.uses[claims.epoch];
  if (use.counter == nullptr) use.counter = std::make_shared<UseCounter>();
  use.rev = std::max(use.rev, claims.rev);
  if (!session.account) {
    session.account = std::make_shared<LeaseAccount>(terms_of(claims), use.counter);
  }
  const LeaseSessionId id{++last_id_};
  const auto index = static_cast<std::uint32_t>(&device - devices_.data());
  Admission admission{id, index, session.shared, session.account};
  device.sessions.emplace(id, std::move(session));
  return admission;
}

LeaseGate::Answer LeaseGate::admit_unleased() {
  if (auto refused = refuse_all()) return *refused;
  Device* best = nullptr;
  for (Device& device : devices_) {
    if (device.closed || is_held(device)) continue;
    if (best == nullptr || device.unleased.size() < best->unleased.size()) best = &device;
  }
  if (best == nullptr) {
    return Refused{Refusal::held,
                   "no device is free for clients without a lease (leases of the pool have all of "
                   "them, or they are closed) try again later, or run with --pool"};
  }
  const LeaseSessionId id{++last_id_};
  auto session = std::make_shared<LeaseSession>(false);
  best->unleased.emplace(id, session);
  const auto index = static_cast<std::uint32_t>(best - devices_.data());
  return Admission{id, index, std::move(session), nullptr};
}

void LeaseGate::leave(LeaseSessionId id) {
  for (Device& device : devices_) {
    if (const auto at = device.sessions.find(id); at != device.sessions.end()) {
      at->second.shared->cut_off();
      device.sessions.erase(at);
    }
    if (const auto at = device.unleased.find(id); at != device.unleased.end()) {
      at->second->cut_off();
      device.unleased.erase(at);
    }
  }
  std::erase_if(cut_off_, [&](const CutOff& one) { return one.id == id; });
}

void LeaseGate::tick(std::int64_t now_ms) {
  for (Device& device : devices_) {
    for (auto& [id, session] : device.sessions) {
      if (!in_time(device, session.epoch(), session.end_ms, now_ms)) cut_off(id, *session.shared);
    }
  }
}

std::vector<CutOff> LeaseGate::take_cut_off() { return std::exchange(cut_off_, {}); }

LeaseReport LeaseGate::report() {
  LeaseReport report{rev_, {}};
  for (Device& device : devices_) {
    LeaseReport::Device told{device.about.id, device.floor, {}, {}};
    for (auto& [id, session] : device.sessions) {
      told.sessions.push_back(
          {session.epoch(), session.shared->valid(), session.shared->take_use()});
    }
    for (const auto& [epoch, use] : device.uses) told.uses.push_back({epoch, use.counter->use()});
    report.devices.push_back(std::move(told));
  }
  return report;
}

void LeaseGate::forget_told(const LeaseReport& report) {
  for (const LeaseReport::Device& told : report.devices) {
    Device* const device = find(told.id);
    if (device == nullptr) continue;
    for (const LeaseReport::LeaseUse& last : told.uses) {
      const auto use = device->uses.find(last.epoch);
      if (use == device->uses.end() || use->second.counter->use() != last.use) continue;
      // A token of a later revision could open one more session.
      const bool is_over = use->second.rev <= rev_ && !device->listed.contains(last.epoch);
      const bool is_open = std::ranges::any_of(
          device->sessions, [&](const auto& entry) { return entry.second.epoch() == last.epoch; });
      const auto& sessions = told.sessions;
      const bool was_open = std::ranges::any_of(
          sessions, [&](const auto& session) { return session.epoch == last.epoch; });
      if (is_over && !is_open && !was_open) device->uses.erase(use);
    }
  }
}

// --- parts ---------------------------------------------------------------------------------------

LeaseGate::Device* LeaseGate::find(std::string_view id) noexcept {
  const auto at = std::ranges::find(devices_, id, [](const Device& d) { return d.about.id; });
  return at == devices_.end() ? nullptr : &*at;
}

// True below the floor, or if the manager has ended the lease after it signed the token.
bool LeaseGate::is_over(const Device& device, std::uint64_t epoch,
                        std::int64_t rev) const noexcept {
  return epoch < device.floor || (rev <= rev_ && !device.listed.contains(epoch));
}

bool LeaseGate::in_time(const Device& device, std::uint64_t epoch, std::int64_t end_ms,
                        std::int64_t now_ms) const noexcept {
  const auto listed = device.listed.find(epoch);
  if (listed != device.listed.end()) end_ms = std::max(end_ms, listed->second.end_ms);
  if (now_ms - kExpirySlackMs <= end_ms) return true;
  const std::int64_t silence_ms = now_ms - heard_ms_;
  return config_.contact_ms < silence_ms && silence_ms < config_.grace_ms;
}

void LeaseGate::raise_floor(Device& device, std::uint64_t floor) {
  device.floor = std::max(device.floor, floor);
  for (auto& [id, session] : device.sessions) {
    if (session.epoch() < device.floor) cut_off(id, *session.shared);
  }
}

// True while a lease has the device, as far as the gate knows.
bool LeaseGate::is_held(const Device& device) const noexcept {
  return !device.listed.empty() || !device.sessions.empty() || device.token_rev > rev_;
}

void LeaseGate::end_unleased(Device& device) {
  for (const auto& [id, session] : device.unleased) cut_off(id, *session);
}

void LeaseGate::cut_off(LeaseSessionId id, LeaseSession& session) {
  if (!session.valid()) return;
  session.cut_off();
  cut_off_.push_back({id, session.leased()});
}

}  // namespace ob::daemon
