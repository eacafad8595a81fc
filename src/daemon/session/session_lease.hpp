#pragma once
// The right of a session to its device, at a daemon of a managed pool.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "daemon/lease_gate/lease_account.hpp"
#include "daemon/lease_gate/lease_session.hpp"
#include "daemon/session/device_errors.hpp"

namespace ob::daemon {

/// An admission of the gate. Its end tells the gate that the session has ended.   Threads: any
class SessionLease {
 public:
  /// @param account nullptr: there is no lease
  /// @param errors gets the device errors that the session meets
  /// @param leave runs once, when the session has ended and its memory is free
  SessionLease(std::uint32_t device, std::shared_ptr<LeaseSession> commands,
               std::shared_ptr<const LeaseAccount> account,
               std::shared_ptr<const SessionErrors> errors, std::function<void()> leave)
      : device_(device),
        commands_(std::move(commands)),
        account_(std::move(account)),
        errors_(std::move(errors)),
        leave_(std::move(leave)) {}
  ~SessionLease() { leave_(); }
  SessionLease(const SessionLease&) = delete;
  SessionLease& operator=(const SessionLease&) = delete;

  std::uint32_t device() const noexcept { return device_; }
  /// The part that commands ask.
  const std::shared_ptr<LeaseSession>& commands() const noexcept { return commands_; }
  /// Returns nullptr for a session without a lease.
  const LeaseAccount* account() const noexcept { return account_.get(); }
  const std::shared_ptr<const SessionErrors>& errors() const noexcept { return errors_; }

 private:
  const std::uint32_t device_;
  const std::shared_ptr<LeaseSession> commands_;
  const std::shared_ptr<const LeaseAccount> account_;
  const std::shared_ptr<const SessionErrors> errors_;
  const std::function<void()> leave_;
};

/// Returns the account of a session's lease; nullptr: it has none.
/// @param right nullptr: the daemon is in no pool
inline const LeaseAccount* account_of(const SessionLease* right) noexcept {
  return right != nullptr ? right->account() : nullptr;
}

}  // namespace ob::daemon
