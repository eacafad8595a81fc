#include "daemon/pool/leases.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/io/log.hpp"

namespace ob::daemon {
namespace {

// A client waits so long for sessions that must end for it. Its own patience ends at 2 s.
constexpr std::chrono::milliseconds kLongestFencing{1000};

std::string now_text() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();  // CLOCK_MONOTONIC
  return std::to_string(std::chrono::nanoseconds(now).count()) + " ns";
}

// The lines of sessions and floors are for tests/cluster/check_history.py, which compares their
// times with those of other processes. They are written under the lock of the gate, so that a
// session is never said to last longer than it does, or to begin before its floor.
void log_begin(const Admission& session, const pool::LeaseClaims& claims) {
  log::debug("lease session " + std::to_string(session.id.value) + " begins at " + now_text() +
             ": device " + claims.device + " epoch " + std::to_string(claims.epoch) +
             (claims.exclusive ? " exclusive" : " shared"));
}

void log_end(LeaseSessionId session) {
  log::debug("lease session " + std::to_string(session.value) + " ends at " + now_text());
}

}  // namespace

Leases::Leases(const LeaseGate::Config& gate, std::string url, WithoutLease without_lease)
    : url_(std::move(url)),
      without_lease_(without_lease),
      gate_(gate),
      floors_(gate.devices.size()) {
  for (const GatedDevice& device : gate.devices) {
    errors_.push_back(std::make_shared<DeviceErrors>(device.id, device.isolated));
  }
}

std::optional<std::int64_t> Leases::now_ms() { return clock_.at(pool::boot_ms()); }

// @pre mutex_ is held
void Leases::log_floors() {
  for (std::size_t i = 0; i < floors_.size(); ++i) {
    const std::uint64_t floor = gate_.floor(i);
    if (std::exchange(floors_[i], floor) == floor) continue;
    log::debug("lease floor of device " + errors_[i]->device() + " is " + std::to_string(floor) +
               " at " + now_text());
  }
}

Leases::Answer Leases::ask_gate(const pool::LeaseClaims& claims, const std::string& user) {
  const auto is_fencing = [](const Answer& answer) {
    const auto* const refused = std::get_if<Refused>(&answer);
    return refused != nullptr && refused->why == Refusal::fencing;
  };
  const auto until = std::chrono::steady_clock::now() + kLongestFencing;
  for (;;) {
    std::unique_lock lock(mutex_);
    Answer answer = gate_.admit(claims, user, now_ms().value_or(0));
    log_floors();
    if (const auto* const session = std::get_if<Admission>(&answer)) log_begin(*session, claims);
    if (!is_fencing(answer)) return answer;
    lock.unlock();
    end_cut_off();
    lock.lock();
    if (left_.wait_until(lock, until) == std::cv_status::timeout) return answer;
  }
}

Result<std::unique_ptr<const SessionLease>> Leases::admit(const wire::Hello& hello,
                                                          const std::string& user) {
  // Older clients do not know that a session can end for others.
  const bool knows_leases = hello.version >= wire::kFirstLeaseVersion;
  const bool has_token = !hello.identity.empty();
  if (!knows_leases || (!has_token && without_lease_ == WithoutLease::refuse)) {
    return Status(Code::denied, "this daemon serves leases of the pool at " + url_ +
                                    " (no token was given); run with --pool " + url_);
  }
  OB_ASSIGN_OR_RETURN(Answer answer,
                      has_token ? admit_token(hello.identity, user) : admit_unleased());
  if (const auto* const refused = std::get_if<Refused>(&answer)) return refused->status();
  auto& admission = std::get<Admission>(answer);
  const bool leased = admission.session->leased();
  auto errors = std::make_shared<const SessionErrors>(errors_[admission.device], admission.id);
  return std::unique_ptr<const SessionLease>(std::make_unique<SessionLease>(
      admission.device, std::move(admission.session), std::move(admission.account),
      std::move(errors), [this, id = admission.id, leased] { leave(id, leased); }));
}

// A session outlives the keys with which its token was signed, and whoever knows the session's
// token needs no other. So only a good token of another lease shows a mistake, or worse.
Status Leases::check_join(const wire::Hello& hello, const SessionLease* lease) {
  if (hello.identity.empty()) return {};
  pool::LeaseKeys keys;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_;
  }
  const auto claims = pool::verify_lease_token(hello.identity, keys);
  if (!claims.ok()) return {};
  const LeaseAccount* const account = account_of(lease);
  if (account != nullptr && account->terms().epoch == claims->epoch &&
      claims->device == errors_[lease->device()]->device()) {
    return {};
  }
  return {Code::denied,
          "the session is not of the lease in the token (it is another one's); open a "
          "session of its own with this token"};
}

// @pre mutex_ is held
Status Leases::refuse_unregistered() const {
  if (registered_) return {};
  return {Code::unavailable, "this daemon is not registered with the manager at " + url_ +
                                 " yet (it has just started, or the manager is away); try again "
                                 "soon"};
}

Result<Leases::Answer> Leases::admit_token(const std::string& token, const std::string& user) {
  pool::LeaseKeys keys;
  {
    const std::lock_guard lock(mutex_);
    OB_RETURN_IF_ERROR(refuse_unregistered());
    keys = keys_;
  }
  OB_ASSIGN_OR_RETURN(const pool::LeaseClaims claims, pool::verify_lease_token(token, keys));
  Answer answer = ask_gate(claims, user);
  end_cut_off();
  return answer;
}

Result<Leases::Answer> Leases::admit_unleased() {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(refuse_unregistered());
  return gate_.admit_unleased();
}

void Leases::leave(LeaseSessionId id, bool leased) {
  const std::lock_guard lock(mutex_);
  if (leased) log_end(id);
  gate_.leave(id);
  left_.notify_all();
}

void Leases::end_cut_off() {
  std::vector<CutOff> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = gate_.take_cut_off();
  }
  if (ended.empty()) return;
  const auto leased = std::ranges::count(ended, true, &CutOff::leased);
  const auto unleased = std::ranges::count(ended, false, &CutOff::leased);
  if (leased != 0) log::info(std::to_string(leased) + " sessions cut off: their leases are over");
  if (unleased != 0) {
    log::info(std::to_string(unleased) +
              " sessions without a lease cut off: their device was given to a lease, or closed");
  }
  end_sessions_();
}

Status Leases::take(const pool::Registered& registered, const Exchanged& exchanged) {
  OB_ASSIGN_OR_RETURN(pool::LeaseKeys keys, pool::LeaseKeys::create(registered.keys));
  {
    const std::lock_guard lock(mutex_);
    OB_RETURN_IF_ERROR(gate_.set_pool(registered.pool));
    keys_ = std::move(keys);
  }
  OB_RETURN_IF_ERROR(take(registered.state, exchanged));
  const std::lock_guard lock(mutex_);
  registered_ = true;
  return {};
}

Status Leases::take(const pool::DesiredState& state, const Exchanged& exchanged) {
  {
    const std::lock_guard lock(mutex_);
    clock_.note(state.now_ms, exchanged.sent_ms, exchanged.received_ms);
    // Before the first quick answer, its own time is the best estimate.
    OB_RETURN_IF_ERROR(gate_.apply(state, now_ms().value_or(state.now_ms)));
    log_floors();
  }
  end_cut_off();
  return {};
}

void Leases::tick() {
  {
    const std::lock_guard lock(mutex_);
    const auto now = now_ms();
    if (now) gate_.tick(*now);
  }
  end_cut_off();
  // A connection may have joined its session just when that was cut off.
  end_sessions_();
}

LeaseReport Leases::report() {
  const std::lock_guard lock(mutex_);
  return gate_.report();
}

void Leases::forget_told(const LeaseReport& report) {
  const std::lock_guard lock(mutex_);
  gate_.forget_told(report);
}

bool Leases::wants_time() {
  const std::lock_guard lock(mutex_);
  return clock_.is_stale(pool::boot_ms());
}

}  // namespace ob::daemon
