#include "daemon/lease_history.hpp"

#include <algorithm>
#include <set>
#include <variant>

namespace ob::daemon::test {
namespace {

using pool::DesiredLease;
using pool::DesiredState;
using pool::LeaseClaims;

constexpr std::uint64_t kMemory = 1000;
constexpr std::int64_t kGraceMs = 60'000;
constexpr std::int64_t kContactMs = 4'000;
const std::vector<std::string> kDevices{"d0", "d1"};
const std::vector<std::string> kHolders{"certificate ada", "certificate eve", "uid 7", ""};
const std::vector<std::string> kUsers{"certificate ada", "certificate eve", "uid 7", "uid 8", ""};

std::vector<LeaseOracle::Device> oracle_devices() {
  std::vector<LeaseOracle::Device> all;
  for (const std::string& id : kDevices) all.push_back({id, kMemory});
  return all;
}

LeaseGate::Config gate_config() {
  LeaseGate::Config config{"n", {}, kGraceMs, kContactMs};
  for (const std::string& id : kDevices) config.devices.push_back({id, kMemory});
  return config;
}

}  // namespace

LeaseHistory::LeaseHistory(std::span<const std::byte> choices, Mistake mistake)
    : choices_(choices),
      gate_(gate_config(), mistake),
      oracle_("p", "n", oracle_devices(), kGraceMs, kContactMs) {
  require(gate_.set_pool("p").ok(), "the pool is taken");
}

std::string LeaseHistory::run(int events) {
  for (int i = 0; i < events && difference_.empty() && !choices_.empty(); ++i) {
    event();
    compare_sessions();
    require(oracle_.violation().empty(), oracle_.violation());
    if (!difference_.empty()) difference_ = "event " + std::to_string(i) + ": " + difference_;
  }
  return difference_;
}

void LeaseHistory::require(bool holds, const std::string& what) {
  if (!holds && difference_.empty()) difference_ = what;
}

void LeaseHistory::event() {
  switch (pick(0, 28)) {
    case 0:
    case 1: pass_time(); break;
    case 2:
    case 3: grant(); break;
    case 4: revoke(); break;
    case 5: renew(); break;
    case 6:
    case 7:
    case 8:
      make_state();
      deliver(states_.back());
      break;
    case 9: make_state(); break;
    case 10:
      if (!states_.empty()) deliver(any_of(states_));
      break;
    case 11:
    case 12: make_token(); break;
    case 13:
    case 14:
    case 15:
    case 16: connect(); break;
    case 17:
    case 18:
    case 19: begin(); break;
    case 20:
    case 21: end(); break;
    case 22: hang_up(); break;
    case 23: leave_some(); break;
    case 24:
    case 25:
    case 26: connect_without_lease(); break;
    case 27: close_or_open(); break;
    default: report(); break;
  }
}

void LeaseHistory::pass_time() {
  const std::int64_t lengths_ms[] = {1, 300, 999, 1'000, 1'001, 2'500, 4'001, 30'000, 61'000};
  now_ms_ += lengths_ms[pick(0, in_100(10) ? 8 : 5)];
  oracle_.tick(now_ms_);
  gate_.tick(now_ms_);
}

// --- the manager ---------------------------------------------------------------------------------

void LeaseHistory::grant() {
  const auto device = pick<std::size_t>(0, 1);
  LeaseClaims claims;
  claims.pool = "p";
  claims.daemon = "n";
  claims.device = kDevices[device];
  claims.holder = any_of(const_cast<std::vector<std::string>&>(kHolders));
  claims.lease = "lease" + std::to_string(++epoch_);
  claims.epoch = epoch_;
  claims.exclusive = in_100(40);
  if (claims.exclusive) floors_[device] = epoch_;
  claims.floor = floors_[device];
  claims.memory_bytes = claims.exclusive ? kMemory : 100 * pick<std::uint64_t>(1, 6);
  claims.share = claims.exclusive ? 1000 : 100 * pick<std::uint64_t>(1, 6);
  claims.sessions = pick<std::uint64_t>(1, 3);
  claims.rights = "calls";
  if (in_100(30)) claims.uid = pick<std::uint32_t>(7, 8);
  handles_.push_back({device, claims, now_ms_ + pick<std::int64_t>(500, 20'000)});
  ++rev_;
}

void LeaseHistory::revoke() {
  if (handles_.empty()) return;
  Handle& handle = any_of(handles_);
  handle.lives = false;
  if (in_100(30))
    floors_[handle.device] = std::max(floors_[handle.device], handle.claims.epoch + 1);
  ++rev_;
}

void LeaseHistory::renew() {
  if (!handles_.empty()) any_of(handles_).end_ms = now_ms_ + 5'000;
}

void LeaseHistory::close_or_open() {
  const auto device = pick<std::size_t>(0, 1);
  closed_[device] = !closed_[device];
  ++rev_;
}

void LeaseHistory::make_state() {
  DesiredState state{rev_, now_ms_, {}};
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    state.devices.push_back({kDevices[i], floors_[i], {}, closed_[i]});
    for (const Handle& handle : handles_) {
      if (handle.device != i || !handle.lives) continue;
      const LeaseClaims& claims = handle.claims;
      state.devices[i].leases.push_back(
          {claims.epoch, handle.end_ms, claims.memory_bytes, claims.share});
    }
  }
  if (in_100(15)) spoil(state);
  states_.push_back(std::move(state));
}

void LeaseHistory::spoil(DesiredState& state) {
  pool::DesiredDevice& device = any_of(state.devices);
  switch (pick(0, 6)) {
    case 0: state.devices.push_back(device); break;
    case 1: device.floor /= 2; break;
    case 2: std::erase_if(state.devices, [&](const auto& d) { return d.id == kDevices[0]; }); break;
    case 3:
      if (!device.leases.empty()) device.leases.push_back(device.leases[0]);
      break;
    case 4:
      if (!device.leases.empty()) ++any_of(device.leases).memory_bytes;
      break;
    case 5: device.id = "gone"; break;
    default:
      for (std::uint64_t i = 0; i <= 1000; ++i) device.leases.push_back({1'000'000 + i, 0, 1, 1});
  }
}

void LeaseHistory::deliver(const DesiredState& state) {
  const bool taken = oracle_.state(state, now_ms_);
  require(gate_.apply(state, now_ms_).ok() == taken, "a state is taken or refused");
  if (!taken || state.rev < oracle_.rev()) return;
  // A manager that lists an ended lease again errs.
  for (const pool::DesiredDevice& device : state.devices) {
    const auto at = std::ranges::find(kDevices, device.id);
    if (at == kDevices.end()) continue;
    const auto index = static_cast<std::size_t>(at - kDevices.begin());
    for (const auto& lease : device.leases) forgotten_.erase({index, lease.epoch});
  }
}

void LeaseHistory::make_token() {
  if (handles_.empty()) return;
  const std::size_t from = handles_.size() > 4 && in_100(70) ? handles_.size() - 4 : 0;
  const Handle& handle = handles_[pick(from, handles_.size() - 1)];
  LeaseClaims claims = handle.claims;
  claims.issued_ms = now_ms_;
  claims.end_ms = handle.end_ms;
  claims.rev = rev_;
  if (in_100(20)) spoil(claims);
  tokens_.push_back(std::move(claims));
}

void LeaseHistory::spoil(LeaseClaims& claims) {
  switch (pick(0, 13)) {
    case 0: claims.pool = "q"; break;
    case 1: claims.daemon = "m"; break;
    case 2: claims.device = in_100(50) ? "gone" : kDevices[pick<std::size_t>(0, 1)]; break;
    case 3: claims.holder = "certificate eve"; break;
    case 4: claims.exclusive = !claims.exclusive; break;
    case 5: claims.floor = pick<std::uint64_t>(0, epoch_ + 2); break;
    case 6: claims.epoch = pick<std::uint64_t>(0, epoch_ + 2); break;
    case 7: claims.share = 100 * pick<std::uint64_t>(0, 11); break;
    case 8: claims.memory_bytes = 100 * pick<std::uint64_t>(0, 11); break;
    case 9: claims.sessions = 0; break;
    case 10: claims.issued_ms = now_ms_ + 600'000 + pick<std::int64_t>(-1, 2); break;
    case 11: claims.end_ms = now_ms_ + pick<std::int64_t>(-1'002, -998); break;
    case 12: claims.rev = pick<std::int64_t>(0, rev_ + 1); break;
    default: claims.lease = "another"; break;
  }
}

// --- clients -------------------------------------------------------------------------------------

void LeaseHistory::connect() {
  if (tokens_.empty()) return;
  const std::size_t from = tokens_.size() > 5 && in_100(70) ? tokens_.size() - 5 : 0;
  const LeaseClaims claims = tokens_[pick(from, tokens_.size() - 1)];
  std::string user = in_100(70) ? claims.holder : kUsers[pick<std::size_t>(0, kUsers.size() - 1)];
  const std::string expected = oracle_.admit(claims, user, now_ms_);
  const LeaseGate::Answer answer = gate_.admit(claims, user, now_ms_);
  const auto* const refused = std::get_if<Refused>(&answer);
  const std::string said = refused != nullptr ? to_string(refused->why) : "admitted";
  ++answers_[said];
  require(said == expected, "the gate says " + said + " instead of " + expected);
  if (said != expected || refused != nullptr) return;
  const auto& admission = std::get<Admission>(answer);
  require(kDevices[admission.device] == claims.device, "the device is that of the token");
  oracle_.opened(admission.id.value, claims);
  const OfLease of{admission.device, claims.epoch};
  if (const auto at = forgotten_.find(of); at != forgotten_.end()) {
    require(claims.rev > at->second, "no use is forgotten while a token of the lease is good");
    forgotten_.erase(at);
  }
  used_ns_.try_emplace(of, 0);
  open_.push_back({admission.session, admission.account});
}

void LeaseHistory::connect_without_lease() {
  const std::string expected = oracle_.admit_unleased();
  const LeaseGate::Answer answer = gate_.admit_unleased();
  const auto* const refused = std::get_if<Refused>(&answer);
  const std::string said = refused != nullptr ? to_string(refused->why) : "admitted";
  ++answers_["no lease: " + said];
  require(said == expected, "without a lease, the gate says " + said + " instead of " + expected);
  if (said != expected || refused != nullptr) return;
  const auto& admission = std::get<Admission>(answer);
  require(admission.account == nullptr, "there is no account without a lease");
  require(oracle_.opened_unleased(admission.id.value, admission.device),
          "a client without a lease gets a free device with the fewest others");
  open_.push_back({admission.session, nullptr});
}

void LeaseHistory::begin() {
  if (open_.empty()) return;
  const auto i = pick<std::size_t>(0, open_.size() - 1);
  LeaseOracle::Session& session = oracle_.sessions()[i];
  if (session.left || open_[i].client_left) return;
  require(open_[i].session->begin_command() == session.valid, "a command begins or is refused");
  if (!session.valid) return;
  ++session.running;
  session.used = true;
  if (!session.leased) return;
  const std::uint64_t ns = 1 + session.id % 7;
  open_[i].account->use()->computed(ns);
  used_ns_[{session.device, session.claims.epoch}] += ns;
}

void LeaseHistory::end() {
  if (open_.empty()) return;
  const auto i = pick<std::size_t>(0, open_.size() - 1);
  LeaseOracle::Session& session = oracle_.sessions()[i];
  if (session.running == 0) return;
  --session.running;
  open_[i].session->end_command();
}

void LeaseHistory::hang_up() {
  if (!open_.empty()) any_of(open_).client_left = true;
}

void LeaseHistory::leave_some() {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    LeaseOracle::Session& session = oracle_.sessions()[i];
    const bool ends = !session.valid || open_[i].client_left;
    if (session.left || !ends || session.running > 0 || in_100(30)) continue;
    session.left = true;
    session.valid = false;
    gate_.leave(LeaseSessionId{session.id});
  }
}

// --- comparisons ---------------------------------------------------------------------------------

// Exactly the sessions that have become invalid are to be cut off, each once.
void LeaseHistory::compare_sessions() {
  std::set<std::uint64_t> cut_off;
  for (const CutOff& one : gate_.take_cut_off()) {
    require(cut_off.insert(one.id.value).second, "a session is cut off once");
    const auto at = std::ranges::find(oracle_.sessions(), one.id.value, &LeaseOracle::Session::id);
    require(at != oracle_.sessions().end() && at->leased == one.leased, "it has a lease or not");
  }
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const LeaseOracle::Session& session = oracle_.sessions()[i];
    if (open_[i].session->valid() == session.valid) continue;
    require(false, "a session is valid or not");
  }
  for (std::size_t i = 0; i < open_.size(); ++i) {
    LeaseOracle::Session& session = oracle_.sessions()[i];
    if (session.left) continue;
    const bool told = cut_off.contains(session.id);
    require(told == (!session.valid && !session.cut_off), "the sessions to cut off are told");
    session.cut_off = session.cut_off || told;
  }
}

void LeaseHistory::report() {
  const LeaseReport report = gate_.report();
  require(report.rev == oracle_.rev(), "the revision in force is reported");
  for (std::size_t device = 0; device < kDevices.size(); ++device) {
    const LeaseReport::Device& told = report.devices[device];
    require(told.id == kDevices[device], "devices keep their order");
    require(told.floor == oracle_.floor(device), "the floor is reported");
    std::size_t next = 0;
    for (LeaseOracle::Session& session : oracle_.sessions()) {
      if (!session.leased || session.left || session.device != device) continue;
      if (next == told.sessions.size()) return require(false, "all sessions are reported");
      const LeaseReport::Session& one = told.sessions[next++];
      const bool busy = session.used || session.running > 0;
      require(one.epoch == session.claims.epoch && one.valid == session.valid && one.busy == busy,
              "a session is reported as it is");
      session.used = session.running > 0;
    }
    require(next == told.sessions.size(), "only sessions that have not left are reported");
  }
  compare_uses(report);
  forget_uses(report);
}

void LeaseHistory::compare_uses(const LeaseReport& report) {
  std::map<OfLease, std::uint64_t> told;
  for (std::size_t device = 0; device < report.devices.size(); ++device) {
    for (const LeaseReport::LeaseUse& lease : report.devices[device].uses) {
      told[{device, lease.epoch}] = lease.use.compute_ns;
    }
  }
  require(told == used_ns_, "the use of leases is reported until it is forgotten");
}

// The manager has taken the report.
void LeaseHistory::forget_uses(const LeaseReport& report) {
  gate_.forget_told(report);
  const LeaseReport after = gate_.report();
  for (std::size_t device = 0; device < after.devices.size(); ++device) {
    for (const auto& lease : report.devices[device].uses) {
      const auto is_same = [&](const auto& other) { return other.epoch == lease.epoch; };
      if (std::ranges::any_of(after.devices[device].uses, is_same)) continue;
      require(std::ranges::none_of(after.devices[device].sessions, is_same),
              "no use is forgotten while a session is open");
      used_ns_.erase({device, lease.epoch});
      forgotten_[{device, lease.epoch}] = oracle_.rev();
    }
  }
}

}  // namespace ob::daemon::test
