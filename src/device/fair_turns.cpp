#include "device/fair_turns.hpp"

#include <algorithm>

namespace ob {
namespace {

using Clock = std::chrono::steady_clock;

// Accounts that are looked after at least; beyond, those that say nothing any more go.
constexpr std::size_t kRemembered = 64;

}  // namespace

FairTurns::Turn::Turn(FairTurns& turns, AccountId account) : turns_(turns), account_(account) {
  turns_.acquire(account);
  began_ = Clock::now();
}

FairTurns::Turn::~Turn() { turns_.release(account_, Clock::now() - began_); }

void FairTurns::acquire(AccountId id) {
  wanted_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  Account& account = accounts_[id];
  if (account.interested++ == 0) account.served = std::max(account.served, level_);
  if (!taken_) {
    taken_ = true;
    level_ = account.served;
    return;
  }
  Waiter waiter{id, false, {}};
  waiting_.push_back(&waiter);
  waiter.changed.wait(lock, [&] { return waiter.called; });
}

void FairTurns::release(AccountId id, std::chrono::nanoseconds took) {
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[id];
  account.served += took;
  --account.interested;
  taken_ = false;
  call_next();
  if (accounts_.size() > kRemembered) forget_idle();
}

void FairTurns::call_next() {
  const auto next =
      std::min_element(waiting_.begin(), waiting_.end(), [&](const Waiter* a, const Waiter* b) {
        return accounts_[a->account].served < accounts_[b->account].served;
      });
  if (next == waiting_.end()) return;
  Waiter* const waiter = *next;
  waiting_.erase(next);
  taken_ = true;
  level_ = std::max(level_, accounts_[waiter->account].served);
  waiter->called = true;
  waiter->changed.notify_one();  // under the lock: the waiter is gone once it is free
}

// An account at the level or below starts from there anyway.
void FairTurns::forget_idle() {
  std::erase_if(accounts_, [&](const auto& entry) {
    return entry.second.interested == 0 && entry.second.served <= level_;
  });
}

}  // namespace ob
