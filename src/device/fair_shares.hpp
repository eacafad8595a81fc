#pragma once
// The service that leases, users and their sessions have got, for fair turns.

#include <array>
#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "device/account.hpp"

namespace ob {

/// Keeps a virtual time for each lease, for each user of a lease, and for each session of a user.
/// That of a lease passes the slower, the larger its share is. The next turn belongs to the claim
/// with the least served(). Whoever is idle saves nothing up: a new claim starts level with the
/// least served one beside it that is busy.
/// Threads: one at a time
class FairShares {
 public:
  using Time = std::chrono::nanoseconds;

 private:
  /// The share of a lease in all turns, of a user in its lease, or of a session in its user's
  /// share.
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
  struct Lease : Share {
    Time level{0};  // served time of the user whose turn began last
    std::unordered_map<UserId, User> users;
  };

 public:
  /// A turn that is held or waited for.
  class Claim {
   public:
    /// Returns the order among claims: the lease's time, then the user's, then the session's.
    std::array<Time, 3> served() const noexcept {
      return {lease_->served, user_->served, session_->served};
    }

   private:
    friend FairShares;
    Lease* lease_ = nullptr;
    User* user_ = nullptr;
    Share* session_ = nullptr;
    std::uint32_t share_ = LeaseWeight::kWhole;
  };

  /// @pre account.weight.share > 0
  Claim enter(const Account& account);
  void begin(const Claim& claim);
  /// Ends the claim.   @param took below 100 days
  void leave(const Claim& claim, Time took);

 private:
  void forget_idle(Lease& lease, User& user);

  Time level_{0};  // served time of the lease whose turn began last
  std::unordered_map<LeaseId, Lease> leases_;
};

}  // namespace ob
