#pragma once
// Whose turn it is to compute, where one thing is computed at a time.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

#include "device/account.hpp"

namespace ob {

/// Gives turns so that users who always have work compute for equal times, however many sessions
/// they have and however long their single turns are, and so do the sessions of one user among
/// themselves: the next turn goes to the waiting user who computed least, and among that user's
/// sessions to the one that did. Who had nothing to compute saves nothing up, but starts level with
/// the least served of those who had.
/// Threads: any
/// Source: start-time fair queueing (Goyal, Vin, Cheng 1996) with equal weights, in two levels
/// (there: hierarchical link sharing); like deficit round robin (Shreedhar, Varghese 1995) it
/// bounds how far two who are busy drift apart by one turn of each, and needs no quantum
class FairTurns {
 public:
  /// A turn, from construction (which waits for it) to destruction.
  class Turn {
   public:
    Turn(FairTurns& turns, const Account& account);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// How long it was waited for; 0 if it was free.
    std::uint64_t waited_ns() const noexcept { return waited_ns_; }
    /// True if other sessions waited for theirs when this one began.
    bool holds_others_up() const noexcept { return holds_others_up_; }

   private:
    friend FairTurns;
    FairTurns& turns_;
    const Account account_;
    std::uint64_t waited_ns_ = 0;
    bool holds_others_up_ = false;
    std::chrono::steady_clock::time_point began_;
  };

  /// True while somebody has a turn or waits for one.
  bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed) != 0; }
  /// True while somebody but one who has a turn waits for one.
  bool waited_for() const noexcept { return wanted_.load(std::memory_order_relaxed) > 1; }

 private:
  /// What a user has of the device, or a session of what its user has.
  struct Share {
    std::chrono::nanoseconds served{0};  // since the one with the least began, so to speak
    unsigned interested = 0;             // turns that are had or waited for
    void enter(std::chrono::nanoseconds level);
    void leave(std::chrono::nanoseconds took);
  };
  struct User : Share {
    std::chrono::nanoseconds level{0};  // served time of the session whose turn began last
    std::unordered_map<SessionId, Share> sessions;
  };
  struct Waiter {
    Account account;
    User* user;
    Share* session;
    bool called = false;
    bool holds_others_up = false;
    std::condition_variable changed;
  };

  void acquire(Turn& turn);
  void release(const Account& account, std::chrono::nanoseconds took);
  void begin(User& user, const Share& session);
  void call_next();
  void forget_idle(User& user);

  std::atomic<int> wanted_{0};
  std::mutex mutex_;  // of all below
  bool taken_ = false;
  std::chrono::nanoseconds level_{0};  // served time of the user whose turn began last
  std::unordered_map<UserId, User> users_;
  std::list<Waiter*> waiting_;  // in order of arrival
};

}  // namespace ob
