#include "daemon/lease_oracle.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace ob::daemon::test {
namespace {

using pool::DesiredDevice;
using pool::DesiredLease;
using pool::DesiredState;
using pool::LeaseClaims;

bool is_allowed(const LeaseClaims& claims, const std::string& user) {
  const bool local = user.rfind("uid ", 0) == 0;
  const bool names_uid = claims.holder.rfind("uid ", 0) == 0;
  if (!local || !claims.uid.has_value()) return user == claims.holder;
  if (user.substr(4) != std::to_string(*claims.uid)) return false;
  return names_uid ? user == claims.holder : true;
}

bool is_sane(const LeaseClaims& claims) {
  const bool weight = claims.share > 0 && claims.share <= 1000;
  const bool below = claims.exclusive ? claims.floor == claims.epoch : claims.floor <= claims.epoch;
  return weight && below && claims.sessions > 0;
}

auto terms(const LeaseClaims& c) {
  return std::tie(c.lease, c.holder, c.exclusive, c.memory_bytes, c.share, c.rights);
}

}  // namespace

std::size_t LeaseOracle::index_of(const std::string& device) const {
  std::size_t i = 0;
  while (i < devices_.size() && devices_[i].id != device) ++i;
  return i;
}

bool LeaseOracle::state(const DesiredState& state, std::int64_t now_ms) {
  bool sane = state.rev >= 0 && state.now_ms >= 0;
  for (const Device& device : devices_) {
    int times = 0;
    for (const DesiredDevice& wanted : state.devices) {
      if (wanted.id != device.id) continue;
      std::set<std::uint64_t> epochs;
      for (const DesiredLease& lease : wanted.leases) epochs.insert(lease.epoch);
      sane = sane && ++times == 1 && epochs.size() == wanted.leases.size() && epochs.size() <= 1000;
    }
  }
  if (!sane) return false;
  bool newest = true;
  for (const Told& other : told_) {
    newest = newest && (other.state.rev < state.rev ||
                        (other.state.rev == state.rev && other.state.now_ms <= state.now_ms));
  }
  told_.push_back({state, now_ms, newest});
  for (Session& session : sessions_) {
    if (!newest) continue;
    const bool ends =
        session.leased ? ended(session.device, session.claims) : !is_free(session.device);
    if (ends) session.valid = false;
  }
  return true;
}

std::string LeaseOracle::admit(const LeaseClaims& claims, const std::string& user,
                               std::int64_t now_ms) {
  if (told_.empty()) return "starting";
  const std::size_t device = index_of(claims.device);
  const bool ours = claims.pool == pool_ && claims.daemon == daemon_ && device < devices_.size();
  if (!ours || !is_allowed(claims, user) || !is_sane(claims)) return "denied";
  if (claims.issued_ms > now_ms + 600'000) return "denied";
  if (ended(device, claims)) return "fenced";
  if (late(device, claims, now_ms)) return "expired";
  if (contradicted(device, claims)) return "denied";
  floors_.push_back({device, claims.floor, claims.rev});
  bool older = false;
  for (Session& session : sessions_) {
    if (session.device != device) continue;
    if (session.leased && session.claims.epoch >= floor(device)) continue;
    session.valid = false;
    older = older || !session.left;
  }
  if (older) return "fencing";
  return fits(device, claims) ? "admitted" : "full";
}

void LeaseOracle::opened(std::uint64_t id, const LeaseClaims& claims) {
  sessions_.push_back({id, index_of(claims.device), claims});
}

std::string LeaseOracle::admit_unleased() const {
  if (told_.empty()) return "starting";
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (is_free(i)) return "admitted";
  }
  return "held";
}

bool LeaseOracle::opened_unleased(std::uint64_t id, std::size_t device) {
  bool good = is_free(device);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    good = good && (!is_free(i) || unleased_sessions(i) >= unleased_sessions(device));
  }
  sessions_.push_back({id, device, {}, false});
  return good;
}

std::size_t LeaseOracle::unleased_sessions(std::size_t device) const {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [&](const Session& session) {
        return !session.leased && !session.left && session.device == device;
      }));
}

bool LeaseOracle::is_free(std::size_t device) const {
  const DesiredState* const state = in_force();
  if (state == nullptr) return false;
  bool open = false;
  for (const DesiredDevice& wanted : state->devices) {
    if (wanted.id == devices_[device].id) open = !wanted.closed && wanted.leases.empty();
  }
  for (const Session& session : sessions_) {
    if (session.leased && !session.left && session.device == device) open = false;
  }
  for (const Floor& seen : floors_) {
    if (seen.device == device && seen.rev > rev()) open = false;
  }
  return open;
}

void LeaseOracle::tick(std::int64_t now_ms) {
  for (Session& session : sessions_) {
    if (session.leased && late(session.device, session.claims, now_ms)) session.valid = false;
  }
}

std::uint64_t LeaseOracle::floor(std::size_t device) const {
  std::uint64_t highest = 0;
  for (const Floor& seen : floors_) {
    if (seen.device == device) highest = std::max(highest, seen.floor);
  }
  for (const Told& told : told_) {
    for (const DesiredDevice& wanted : told.state.devices) {
      if (told.taken && wanted.id == devices_[device].id) highest = std::max(highest, wanted.floor);
    }
  }
  return highest;
}

std::int64_t LeaseOracle::rev() const { return in_force() == nullptr ? -1 : in_force()->rev; }

const DesiredState* LeaseOracle::in_force() const {
  const DesiredState* last = nullptr;
  for (const Told& told : told_) {
    if (told.taken) last = &told.state;
  }
  return last;
}

const DesiredLease* LeaseOracle::listed(std::size_t device, std::uint64_t epoch) const {
  if (in_force() == nullptr) return nullptr;
  for (const DesiredDevice& wanted : in_force()->devices) {
    if (wanted.id != devices_[device].id) continue;
    for (const DesiredLease& lease : wanted.leases) {
      if (lease.epoch == epoch) return &lease;
    }
  }
  return nullptr;
}

bool LeaseOracle::ended(std::size_t device, const LeaseClaims& claims) const {
  const bool known_to_manager = rev() >= claims.rev;
  const bool revoked = known_to_manager && listed(device, claims.epoch) == nullptr;
  return revoked || claims.epoch < floor(device);
}

bool LeaseOracle::late(std::size_t device, const LeaseClaims& claims, std::int64_t now_ms) const {
  std::int64_t end_ms = claims.end_ms;
  if (const DesiredLease* lease = listed(device, claims.epoch)) {
    end_ms = std::max(end_ms, lease->end_ms);
  }
  std::int64_t heard_ms = 0;
  for (const Told& told : told_) heard_ms = std::max(heard_ms, told.at_ms);
  const std::int64_t silence_ms = now_ms - heard_ms;
  const bool grace = silence_ms > contact_ms_ && silence_ms < grace_ms_;
  return now_ms > end_ms + 1000 && !grace;
}

bool LeaseOracle::contradicted(std::size_t device, const LeaseClaims& claims) const {
  const DesiredLease* const lease = listed(device, claims.epoch);
  if (lease != nullptr &&
      (lease->share != claims.share || lease->memory_bytes != claims.memory_bytes)) {
    return true;
  }
  return std::any_of(sessions_.begin(), sessions_.end(), [&](const Session& session) {
    return session.leased && !session.left && session.device == device &&
           session.claims.epoch == claims.epoch && terms(session.claims) != terms(claims);
  });
}

bool LeaseOracle::fits(std::size_t device, const LeaseClaims& claims) const {
  std::set<std::uint64_t> epochs{claims.epoch};
  std::uint64_t sessions = 0;
  std::uint64_t share = claims.share;
  std::uint64_t memory = claims.memory_bytes;
  bool exclusive = claims.exclusive;
  for (const Session& session : sessions_) {
    if (!session.leased || session.left || session.device != device) continue;
    if (session.claims.epoch == claims.epoch) ++sessions;
    if (!epochs.insert(session.claims.epoch).second) continue;
    share += session.claims.share;
    memory += session.claims.memory_bytes;  // small numbers, in a history
    exclusive = exclusive || session.claims.exclusive;
  }
  const bool alone = !exclusive || epochs.size() == 1;
  return alone && share <= 1000 && memory <= devices_[device].memory_bytes &&
         sessions < claims.sessions;
}

std::string LeaseOracle::violation() const {
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    std::set<std::uint64_t> epochs;
    bool exclusive = false;
    bool unleased = false;
    for (const Session& session : sessions_) {
      if (session.device != device || session.running == 0) continue;
      unleased = unleased || !session.leased;
      if (!session.leased) continue;
      epochs.insert(session.claims.epoch);
      exclusive = exclusive || session.claims.exclusive;
    }
    if (exclusive && epochs.size() > 1)
      return devices_[device].id + " runs an exclusive epoch beside others";
    if (unleased && !epochs.empty())
      return devices_[device].id + " runs a lease beside clients without one";
  }
  return {};
}

}  // namespace ob::daemon::test
