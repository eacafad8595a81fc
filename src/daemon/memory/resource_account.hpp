#pragma once
// The part of a resource of the daemon (memory, threads, plans) that one session holds.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace ob::daemon {

class ResourceAccount;
class ResourceBudget;

/// An amount of an account, which returns when the reservation ends. It is empty after a move from
/// it, or if it was made by default.
class Reservation {
 public:
  Reservation() noexcept = default;
  Reservation(Reservation&& other) noexcept
      : account_(std::move(other.account_)), amount_(std::exchange(other.amount_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(amount_, other.amount_);
    return *this;
  }
  ~Reservation();

 private:
  friend ResourceAccount;
  Reservation(std::shared_ptr<ResourceAccount> account, std::uint64_t amount) noexcept
      : account_(std::move(account)), amount_(amount) {}

  std::shared_ptr<ResourceAccount> account_;
  std::uint64_t amount_ = 0;
};

/// Counts the resource for one session, its user, and all users (ResourceBudget).
/// Units: those of the budget   Threads: any
class ResourceAccount {
 public:
  ~ResourceAccount();
  ResourceAccount(const ResourceAccount&) = delete;
  ResourceAccount& operator=(const ResourceAccount&) = delete;

  /// Errors: out_of_memory beyond the limit of the session, of its user, or of the user's share
  static Result<Reservation> reserve(const std::shared_ptr<ResourceAccount>& account,
                                     std::uint64_t amount);

  /// Returns what the session holds.
  std::uint64_t used() const;
  /// Returns the rest of the session's limit and of its user's, whichever is less.
  std::uint64_t room() const;
  /// Returns an equal part of the user's limit for each of the user's sessions, at most the
  /// session's own limit.
  std::uint64_t equal_part() const;
  /// Returns what others must give back before the user's share allows `amount` more; 0 if it does.
  std::uint64_t missing_share(std::uint64_t amount) const;

 private:
  friend Reservation;
  friend ResourceBudget;
  /// The sessions that count together.
  struct User {
    std::uint64_t used = 0;
    std::uint64_t sessions = 0;
  };

  ResourceAccount(std::shared_ptr<ResourceBudget> budget, std::string name,
                  std::shared_ptr<User> user, std::uint64_t limit)
      : budget_(std::move(budget)), name_(std::move(name)), user_(std::move(user)), limit_(limit) {}

  const std::shared_ptr<ResourceBudget> budget_;  // its lock guards the counts
  const std::string name_;                        // of the user; empty without a proven one
  const std::shared_ptr<User> user_;
  const std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

}  // namespace ob::daemon
