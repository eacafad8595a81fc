#pragma once
// A lease gate with a mistake, to prove that tests find it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/lease_gate/lease_gate.hpp"

namespace ob::daemon::test {

enum class Mistake {
  none,
  ignores_pool,
  ignores_daemon,
  ignores_holder,
  ignores_uid,
  ignores_floor_of_tokens,
  ignores_floor_of_states,
  ignores_revocations,
  takes_old_states,
  takes_senseless_states,
  ignores_missing_devices,
  ignores_expiry_at_hello,
  ignores_expiry_of_sessions,
  has_no_grace,
  has_grace_at_once,
  has_endless_grace,
  ignores_memory,
  ignores_share,
  ignores_sessions,
  ignores_terms,
  mixes_modes,
  takes_tokens_from_the_future,
  forgets_running_sessions,
  forgets_to_cut_off,
  reports_idle,
  reports_use_of_open_sessions_only,
  serves_all_on_closed_devices,
  serves_all_beside_leases,
  forgets_running_unleased_sessions,
  forgets_to_cut_off_unleased,
};
inline constexpr int kMistakes = static_cast<int>(Mistake::forgets_to_cut_off_unleased) + 1;

/// The interface of LeaseGate.
class FaultyGate {
 public:
  FaultyGate(LeaseGate::Config config, Mistake mistake)
      : mistake_(mistake), gate_(with_mistake(std::move(config), mistake)) {}

  Status set_pool(const std::string& pool) {
    pool_ = pool;
    return gate_.set_pool(pool);
  }

  Status apply(pool::DesiredState state, std::int64_t now_ms) {
    if (mistake_ == Mistake::takes_old_states)
      state.rev = highest_rev_ = std::max(highest_rev_, state.rev);
    if (mistake_ == Mistake::takes_old_states) state.now_ms = INT64_MAX / 2;
    if (mistake_ == Mistake::takes_senseless_states) make_sense(state);
    for (pool::DesiredDevice& device : state.devices) {
      if (mistake_ == Mistake::ignores_floor_of_states) device.floor = 0;
      if (mistake_ == Mistake::serves_all_on_closed_devices) device.closed = false;
      if (mistake_ == Mistake::ignores_revocations) add_older_leases(device);
      last_[device.id] = device;
    }
    if (mistake_ == Mistake::ignores_missing_devices) add_missing(state);
    return gate_.apply(state, now_ms);
  }

  LeaseGate::Answer admit(pool::LeaseClaims claims, std::string user, std::int64_t now_ms) {
    change(claims, user, now_ms);
    return gate_.admit(claims, user, now_ms);
  }

  LeaseGate::Answer admit_unleased() {
    LeaseGate::Answer answer = gate_.admit_unleased();
    const auto* const refused = std::get_if<Refused>(&answer);
    const bool is_held = refused != nullptr && refused->why == Refusal::held;
    if (mistake_ != Mistake::serves_all_beside_leases || !is_held) return answer;
    return Admission{{UINT64_MAX}, 0, std::make_shared<LeaseSession>(false), nullptr};
  }

  void leave(LeaseSessionId id) { gate_.leave(id); }
  void forget_told(const LeaseReport& report) { gate_.forget_told(report); }
  void tick(std::int64_t now_ms) {
    if (mistake_ != Mistake::ignores_expiry_of_sessions) gate_.tick(now_ms);
  }
  std::vector<CutOff> take_cut_off() {
    std::vector<CutOff> all = gate_.take_cut_off();
    for (const CutOff& one : all) {
      const bool forgets = one.leased ? mistake_ == Mistake::forgets_running_sessions
                                      : mistake_ == Mistake::forgets_running_unleased_sessions;
      if (forgets) gate_.leave(one.id);
    }
    if (mistake_ == Mistake::forgets_to_cut_off && !all.empty()) all.pop_back();
    if (mistake_ == Mistake::forgets_to_cut_off_unleased) {
      std::erase_if(all, [](const CutOff& one) { return !one.leased; });
    }
    return all;
  }
  LeaseReport report() {
    LeaseReport report = gate_.report();
    for (auto& device : report.devices) {
      for (auto& session : device.sessions) {
        if (mistake_ == Mistake::reports_idle) session.busy = false;
      }
      if (mistake_ == Mistake::reports_use_of_open_sessions_only) {
        std::erase_if(device.uses, [&](const auto& use) {
          return std::ranges::none_of(device.sessions,
                                      [&](const auto& s) { return s.epoch == use.epoch; });
        });
      }
    }
    return report;
  }

 private:
  static LeaseGate::Config with_mistake(LeaseGate::Config config, Mistake mistake) {
    if (mistake == Mistake::has_no_grace) config.grace_ms = 0;
    if (mistake == Mistake::has_grace_at_once) config.contact_ms = -1;
    if (mistake == Mistake::has_endless_grace) config.grace_ms = INT64_MAX;
    return config;
  }

  void change(pool::LeaseClaims& claims, std::string& user, std::int64_t& now_ms) {
    switch (mistake_) {
      case Mistake::ignores_pool: claims.pool = pool_; break;
      case Mistake::ignores_daemon: claims.daemon = "n"; break;
      case Mistake::ignores_holder:
        user = claims.holder;
        claims.uid.reset();
        break;
      case Mistake::ignores_uid: claims.uid.reset(); break;
      case Mistake::ignores_floor_of_tokens:
        claims.exclusive = false;
        claims.floor = 0;
        break;
      case Mistake::ignores_expiry_at_hello: now_ms = std::min(now_ms, claims.end_ms); break;
      case Mistake::ignores_memory: claims.memory_bytes = 0; break;
      case Mistake::ignores_share: claims.share = 1; break;
      case Mistake::ignores_sessions: claims.sessions = 64; break;
      case Mistake::ignores_terms: take_first_terms(claims); break;
      case Mistake::mixes_modes: claims.exclusive = false; break;
      case Mistake::takes_tokens_from_the_future: claims.issued_ms = 0; break;
      default: break;
    }
  }

  static void make_sense(pool::DesiredState& state) {
    std::map<std::string, pool::DesiredDevice> devices;
    for (const auto& device : state.devices) {
      std::map<std::uint64_t, pool::DesiredLease> leases;
      for (const auto& lease : device.leases) leases.emplace(lease.epoch, lease);
      auto& kept = devices.emplace(device.id, device).first->second;
      kept.leases.clear();
      for (const auto& [epoch, lease] : leases) kept.leases.push_back(lease);
    }
    state.devices.clear();
    for (const auto& [id, device] : devices) state.devices.push_back(device);
  }

  void add_older_leases(pool::DesiredDevice& device) const {
    const auto older = last_.find(device.id);
    if (older == last_.end()) return;
    for (const auto& lease : older->second.leases) {
      const bool known = std::any_of(device.leases.begin(), device.leases.end(),
                                     [&](const auto& l) { return l.epoch == lease.epoch; });
      if (!known) device.leases.push_back(lease);
    }
  }

  void add_missing(pool::DesiredState& state) const {
    for (const auto& entry : last_) {
      const bool known = std::any_of(state.devices.begin(), state.devices.end(),
                                     [&](const auto& d) { return d.id == entry.first; });
      if (!known) state.devices.push_back(entry.second);
    }
  }

  void take_first_terms(pool::LeaseClaims& claims) {
    const pool::LeaseClaims& first =
        first_.emplace(std::pair(claims.device, claims.epoch), claims).first->second;
    claims.lease = first.lease;
    claims.holder = first.holder == claims.holder ? claims.holder : first.holder;
    claims.memory_bytes = first.memory_bytes;
    claims.share = first.share;
  }

  const Mistake mistake_;
  LeaseGate gate_;
  std::string pool_;
  std::int64_t highest_rev_ = 0;
  std::map<std::string, pool::DesiredDevice> last_;
  std::map<std::pair<std::string, std::uint64_t>, pool::LeaseClaims> first_;
};

}  // namespace ob::daemon::test
