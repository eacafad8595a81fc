#pragma once
// The service that users and their sessions have got, for fair turns.

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "device/account.hpp"

namespace ob {

/// Keeps a virtual time for each user, and for each session of a user. The next turn belongs to the
/// claim with the least served(). An idle user saves nothing up: a new claim starts level with the
/// least served user that is busy.
/// Threads: one at a time
class FairShares {
 public:
  using Time = std::chrono::nanoseconds;

 private:
  /// The share of a user in all turns, or of a session in its user's share.
  struct Share {
    Time served{0};           // virtual time, comparable among the busy ones
    unsigned interested = 0;  // claims
    void enter(Time level);
    void leave(Time took);
  };
  struct User : Share {
    Time level{0};  // served time of the session whose turn began last
    std::unordered_map<SessionId, Share> sessions;
  };

 public:
  /// A turn that is held or waited for.
  class Claim {
   public:
    /// Returns the order among claims: the user's time, then the session's.
    std::pair<Time, Time> served() const noexcept { return {user_->served, session_->served}; }

   private:
    friend FairShares;
    User* user_ = nullptr;
    Share* session_ = nullptr;
  };

  Claim enter(const Account& account);
  void begin(const Claim& claim);
  /// Ends the claim.
  void leave(const Claim& claim, Time took);

 private:
  void forget_idle(User& user);

  Time level_{0};  // served time of the user whose turn began last
  std::unordered_map<UserId, User> users_;
};

}  // namespace ob
