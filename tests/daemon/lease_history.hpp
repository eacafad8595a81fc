#pragma once
// Random histories of a lease gate, beside an oracle.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/faulty_gate.hpp"
#include "daemon/lease_oracle.hpp"
#include "support/choices.hpp"

namespace ob::daemon::test {

/// A manager that sometimes errs, clients that try any token, and messages that are late or come
/// twice.
class LeaseHistory {
 public:
  /// @param choices of all that happens; they outlive the history
  LeaseHistory(std::span<const std::byte> choices, Mistake mistake);

  /// Plays so many events, or as many as there are choices for. Returns the first answer that
  /// differs from the oracle's; empty if none does.
  std::string run(int events);

  /// The number of answers of each kind so far, to see that a history is worth its time.
  const std::map<std::string, int>& answers() const noexcept { return answers_; }

 private:
  /// A device of a lease, as the manager knows it.
  struct Handle {
    std::size_t device;
    pool::LeaseClaims claims;
    std::int64_t end_ms;
    bool lives = true;
  };
  struct Open {
    std::shared_ptr<LeaseSession> session;
    std::shared_ptr<const LeaseAccount> account;
    bool client_left = false;
  };
  using OfLease = std::pair<std::size_t, std::uint64_t>;  // a device and an epoch

  template <class T>
  T pick(T low, T high) {
    return low + static_cast<T>(choices_.below(static_cast<std::size_t>(high - low) + 1));
  }
  bool in_100(int times) { return pick(1, 100) <= times; }
  template <class T>
  T& any_of(std::vector<T>& all) {
    return all[pick<std::size_t>(0, all.size() - 1)];
  }

  void event();
  void pass_time();
  void grant();
  void revoke();
  void renew();
  void make_state();
  void spoil(pool::DesiredState& state);
  void close_or_open();
  void deliver(const pool::DesiredState& state);
  void make_token();
  void spoil(pool::LeaseClaims& claims);
  void connect();
  void connect_without_lease();
  void begin();
  void end();
  void hang_up();
  void leave_some();
  void report();
  void compare_uses(const LeaseReport& report);
  void forget_uses(const LeaseReport& report);

  void compare_sessions();
  void require(bool holds, const std::string& what);

  ob::test::Choices choices_;
  FaultyGate gate_;
  LeaseOracle oracle_;
  std::vector<Open> open_;                     // beside the oracle's sessions
  std::map<OfLease, std::uint64_t> used_ns_;   // of the leases that the gate must report
  std::map<OfLease, std::int64_t> forgotten_;  // and the revision that was in force then
  std::vector<Handle> handles_;
  std::vector<std::uint64_t> floors_{1, 1};
  std::vector<bool> closed_{false, false};
  std::uint64_t epoch_ = 0;
  std::int64_t rev_ = 1;
  std::int64_t now_ms_ = 0;
  std::vector<pool::DesiredState> states_;
  std::vector<pool::LeaseClaims> tokens_;
  std::map<std::string, int> answers_;
  std::string difference_;
};

}  // namespace ob::daemon::test
