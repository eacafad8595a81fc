#include "device/fair_turns.hpp"

#include <algorithm>

#include "device/stopwatch.hpp"

namespace ob {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

FairTurns::Turn::Turn(FairTurns& turns, const Account& account) : turns_(turns), account_(account) {
  turns_.acquire(*this);
  began_ = Clock::now();
}

FairTurns::Turn::~Turn() { turns_.release(claim_, Clock::now() - began_); }

void FairTurns::acquire(Turn& turn) {
  wanted_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  turn.claim_ = shares_.enter(turn.account_);
  if (!taken_) {
    taken_ = true;
    shares_.begin(turn.claim_);
    return;
  }
  const Stopwatch watch;
  Waiter waiter{turn.account_, turn.claim_, false, false, {}};
  waiting_.push_back(&waiter);
  waiter.changed.wait(lock, [&] { return waiter.called; });
  turn.waited_ns_ = watch.elapsed_ns();
  turn.holds_others_up_ = waiter.holds_others_up;
}

void FairTurns::release(const FairShares::Claim& claim, std::chrono::nanoseconds took) {
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  shares_.leave(claim, took);
  taken_ = false;
  call_next();
}

void FairTurns::call_next() {
  const auto next = std::min_element(
      waiting_.begin(), waiting_.end(),
      [](const Waiter* a, const Waiter* b) { return a->claim.served() < b->claim.served(); });
  if (next == waiting_.end()) return;
  Waiter* const waiter = *next;
  waiting_.erase(next);
  taken_ = true;
  shares_.begin(waiter->claim);
  waiter->holds_others_up = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiter* other) {
    return other->account != waiter->account;
  });
  waiter->called = true;
  waiter->changed.notify_one();  // under the lock: afterwards the waiter may be destroyed
}

}  // namespace ob
