#pragma once
// Whose turn it is to compute, where one thing is computed at a time.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"

namespace ob {

/// Gives turns to accounts so that those who always have work compute for equal times, however long
/// their single turns are: the next turn goes to the waiting account that computed least. Who had
/// nothing to compute saves nothing up: it starts level with the least served of those who had.
/// Threads: any
/// Source: start-time fair queueing (Goyal, Vin, Cheng 1996) with equal weights; like deficit round
/// robin (Shreedhar, Varghese 1995) it bounds how far two busy accounts drift apart by one turn of
/// each, and needs no quantum
class FairTurns {
 public:
  /// A turn, from construction (which waits for it) to destruction.
  class Turn {
   public:
    Turn(FairTurns& turns, AccountId account);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    FairTurns& turns_;
    const AccountId account_;
    std::chrono::steady_clock::time_point began_;
  };

  /// True while somebody has a turn or waits for one.
  bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Account {
    std::chrono::nanoseconds served{0};  // since the account with the least began, so to speak
    unsigned interested = 0;             // has a turn, or waits for one
  };
  struct Waiter {
    AccountId account;
    bool called = false;
    std::condition_variable changed;
  };

  void acquire(AccountId account);
  void release(AccountId account, std::chrono::nanoseconds took);
  void call_next();
  void forget_idle();

  std::atomic<int> wanted_{0};
  std::mutex mutex_;  // of all below
  bool taken_ = false;
  std::chrono::nanoseconds level_{0};  // served time of the account whose turn began last
  std::unordered_map<AccountId, Account> accounts_;
  std::list<Waiter*> waiting_;  // in order of arrival
};

}  // namespace ob
