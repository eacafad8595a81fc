#pragma once
// The leases of a daemon of a managed pool: its gate, with the lock, the time and the keys.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "daemon/lease_gate/lease_gate.hpp"
#include "daemon/session/device_errors.hpp"
#include "daemon/session/session_lease.hpp"
#include "pool/desired_state.hpp"
#include "pool/lease_token.hpp"
#include "pool/pool_time.hpp"
#include "pool/registration.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// When an answer of the manager was asked for, and when it came [ms of pool::boot_ms()].
struct Exchanged {
  std::int64_t sent_ms = 0;
  std::int64_t received_ms = 0;
};

/// Says how a client without a lease is answered.
enum class WithoutLease : std::uint8_t {
  refuse,  ///< it is denied
  idle,    ///< it gets a device that no lease has, until one does
};

/// Admits sessions by their tokens, or without a lease, and ends those that may not go on.
/// Threads: any
class Leases {
 public:
  /// @param url of the manager, for messages
  Leases(const LeaseGate::Config& gate, std::string url, WithoutLease without_lease);

  /// Sets the function that ends the connections of sessions that may not go on
  /// (SessionRegistry::cut_off_sessions()). It runs without locks of this class, and may find
  /// sessions for which it has run before.
  /// Threads: one, before all else
  void set_end_sessions(std::function<void()> end_sessions) {
    end_sessions_ = std::move(end_sessions);
  }

  // --- for connections ---------------------------------------------------------------------------

  /// Admits a new session. Sessions that must end for it are cut off first, and it waits a moment
  /// for their end.
  /// @param hello has the token, or none
  /// @param user the proven one, Stream::user(); empty: nobody
  /// Errors: denied; fenced; busy; unavailable before the daemon has registered
  Result<std::unique_ptr<const SessionLease>> admit(const wire::Hello& hello,
                                                    const std::string& user);

  /// Checks the token of a client that joins a session, if it has one: a token of another lease
  /// does not go with the session.
  /// @param lease that of the session; nullptr: it has none
  /// Errors: denied
  Status check_join(const wire::Hello& hello, const SessionLease* lease);

  // --- for the agent -----------------------------------------------------------------------------

  /// Takes the pool, its keys, and the state that it wants.
  /// Errors: those of LeaseKeys::create() and of the gate: this is no word from the manager
  Status take(const pool::Registered& registered, const Exchanged& exchanged);
  /// Takes the state that the manager wants.   Errors: those of the gate
  Status take(const pool::DesiredState& state, const Exchanged& exchanged);
  /// Ends sessions whose time is over, and those that did not end yet.
  void tick();
  /// Returns the gate's part of a heartbeat.
  LeaseReport report();
  /// See LeaseGate::forget_told().
  void forget_told(const LeaseReport& report);
  /// Returns the errors of a device.
  DeviceErrors& errors(std::size_t device) noexcept { return *errors_[device]; }
  /// True if the next answer of the manager should come without delay.
  bool wants_time();

 private:
  using Answer = LeaseGate::Answer;

  std::optional<std::int64_t> now_ms();  // @pre mutex_ is held
  Result<Answer> admit_token(const std::string& token, const std::string& user);
  Result<Answer> admit_unleased();
  Status refuse_unregistered() const;
  Answer ask_gate(const pool::LeaseClaims& claims, const std::string& user);
  void log_floors();
  void end_cut_off();
  void leave(LeaseSessionId id, bool leased);

  const std::string url_;
  const WithoutLease without_lease_;
  std::vector<std::shared_ptr<DeviceErrors>> errors_;  // of each device
  std::function<void()> end_sessions_ = [] {};
  std::mutex mutex_;  // guards all below
  std::condition_variable left_;
  LeaseGate gate_;
  std::vector<std::uint64_t> floors_;  // of each device, in the log
  pool::PoolClock clock_;
  pool::LeaseKeys keys_;
  bool registered_ = false;  // once
};

}  // namespace ob::daemon
