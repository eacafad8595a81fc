#pragma once
// Fair turns on a device that runs one computation at a time.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "device/account.hpp"
#include "device/fair_shares.hpp"

namespace ob {

/// Gives turns so that leases that always have work compute for times in proportion to their
/// shares, the users of a lease for equal times, and the sessions of a user for equal times,
/// however many there are and however long single turns are. The next turn goes to the waiting
/// lease with the least computed time by share, to the user of it with the least computed time, and
/// to the session of that user with the least. Clients without a lease are as one lease. Nobody
/// saves turns up: a new request starts level with the least served one beside it that is busy. A
/// turn that nobody else wants goes to whoever asks.
/// Threads: any
/// Source: start-time fair queueing (Goyal, Vin, Cheng 1996), with weights in the first of three
///         levels (there: hierarchical link sharing). Like deficit round robin (Shreedhar, Varghese
///         1995) it bounds the difference between two busy users by one turn of each, without a
///         quantum.
class FairTurns {
 public:
  /// The turns that may overlap. By default, none do.
  struct Overlap {
    std::chrono::milliseconds after{};  ///< a turn is exclusive for this time; 0: always
    bool between_sessions = true;       ///< false: those of one user never overlap
  };

  using Clock = std::chrono::steady_clock;

  FairTurns() = default;
  /// @param now the clock by which turns are charged
  explicit FairTurns(const Overlap& overlap, Clock::time_point (*now)() = &Clock::now)
      : overlap_(overlap), now_(now) {}

  /// Waits for a turn in the constructor, and ends it in the destructor.
  class Turn {
   public:
    Turn(FairTurns& turns, const Account& account);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Returns the time that the constructor waited; 0 if the device was free.
    std::uint64_t waited_ns() const noexcept { return waited_ns_; }
    /// True if other sessions were waiting when this turn began.
    bool holds_others_up() const noexcept { return holds_others_up_; }

   private:
    friend FairTurns;
    FairTurns& turns_;
    const Account account_;
    FairShares::Claim claim_;
    std::uint64_t waited_ns_ = 0;
    bool holds_others_up_ = false;
    Clock::time_point began_;
  };

  /// Returns the number of turns that somebody has or waits for.
  int wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  /// True while a session other than this one has a turn or waits for one.
  bool wanted_by_others(const Account& account) const;

 private:
  struct Waiter {
    Turn* turn;
    bool called = false;
    std::condition_variable changed;
  };

  void acquire(Turn& turn);
  void await(std::unique_lock<std::mutex>& lock, Waiter& waiter);
  void release(const Turn& turn);
  bool may_begin(const Account& account) const;
  void begin(Turn& turn);
  bool call_next();

  const Overlap overlap_;
  Clock::time_point (*const now_)() = &Clock::now;
  std::atomic<int> wanted_{0};  // changed with mutex_ held
  mutable std::mutex mutex_;    // guards all below
  FairShares shares_;
  std::list<Waiter*> waiting_;        // in order of arrival
  std::vector<const Turn*> running_;  // the last one is exclusive, the others have become shared
  bool exclusive_ = false;
};

}  // namespace ob
