#include "device/fair_turns.hpp"

#include <algorithm>

#include "device/stopwatch.hpp"

namespace ob {

FairTurns::Turn::Turn(FairTurns& turns, const Account& account) : turns_(turns), account_(account) {
  turns_.acquire(*this);
}

FairTurns::Turn::~Turn() { turns_.release(*this); }

void FairTurns::acquire(Turn& turn) {
  std::unique_lock lock(mutex_);
  wanted_.fetch_add(1, std::memory_order_relaxed);
  turn.claim_ = shares_.enter(turn.account_);
  if (!exclusive_ && may_begin(turn.account_)) return begin(turn);
  const Stopwatch watch;
  Waiter waiter{&turn, false, {}};
  waiting_.push_back(&waiter);
  await(lock, waiter);
  turn.waited_ns_ = watch.elapsed_ns();
}

// Any waiter lets the next one begin when the exclusive turn has lasted long enough.
void FairTurns::await(std::unique_lock<std::mutex>& lock, Waiter& waiter) {
  while (!waiter.called) {
    const bool may_overlap = exclusive_ && overlap_.after.count() > 0;
    if (!may_overlap) {
      waiter.changed.wait(lock);
      continue;
    }
    const auto due = running_.back()->began_ + overlap_.after;
    if (now_() < due) {
      waiter.changed.wait_until(lock, due);
    } else if (!call_next()) {
      waiter.changed.wait(lock);  // for the end of a turn
    }
  }
}

void FairTurns::release(const Turn& turn) {
  const auto took = now_() - turn.began_;
  const std::lock_guard lock(mutex_);
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  shares_.leave(turn.claim_, took);
  if (running_.back() == &turn) exclusive_ = false;
  std::erase(running_, &turn);
  if (!exclusive_) (void)call_next();
  if (overlap_.after.count() == 0) return;
  for (Waiter* waiter : waiting_) waiter->changed.notify_one();  // it may be able to begin now
}

bool FairTurns::wanted_by_others(const Account& account) const {
  const auto is_other = [&](const Turn* turn) { return turn->account_ != account; };
  const std::lock_guard lock(mutex_);
  return std::any_of(running_.begin(), running_.end(), is_other) ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiter* waiter) { return is_other(waiter->turn); });
}

// False while a turn of the same process runs, which computes one after the other.
// @pre mutex_ is held
bool FairTurns::may_begin(const Account& account) const {
  const bool by_user = !overlap_.between_sessions && account.user;
  return std::none_of(running_.begin(), running_.end(), [&](const Turn* turn) {
    return by_user ? turn->account_.user == account.user : turn->account_ == account;
  });
}

// @pre mutex_ is held, and the turn does not wait
void FairTurns::begin(Turn& turn) {
  running_.push_back(&turn);
  exclusive_ = true;
  shares_.begin(turn.claim_);
  turn.holds_others_up_ = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiter* other) {
    return other->turn->account_ != turn.account_;
  });
  turn.began_ = now_();
}

// Lets the next waiter begin. Returns false if there is none that may.   @pre mutex_ is held
bool FairTurns::call_next() {
  auto next = waiting_.end();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (!may_begin((*at)->turn->account_)) continue;
    if (next == waiting_.end() || (*at)->turn->claim_.served() < (*next)->turn->claim_.served()) {
      next = at;
    }
  }
  if (next == waiting_.end()) return false;
  Waiter* const waiter = *next;
  waiting_.erase(next);
  begin(*waiter->turn);
  waiter->called = true;
  waiter->changed.notify_one();  // under the lock: afterwards the waiter may be destroyed
  return true;
}

}  // namespace ob
