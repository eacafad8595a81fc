#include "device/fair_turns.hpp"

#include <algorithm>
#include <tuple>

#include "device/stopwatch.hpp"

namespace ob {
namespace {

using Clock = std::chrono::steady_clock;

// Numbers of users, and of sessions per user, that are always remembered. Beyond them, idle ones
// are forgotten.
constexpr std::size_t kRemembered = 1024;

}  // namespace

FairTurns::Turn::Turn(FairTurns& turns, const Account& account) : turns_(turns), account_(account) {
  turns_.acquire(*this);
  began_ = Clock::now();
}

FairTurns::Turn::~Turn() { turns_.release(account_, Clock::now() - began_); }

void FairTurns::Share::enter(std::chrono::nanoseconds level) {
  if (interested++ == 0) served = std::max(served, level);
}

void FairTurns::Share::leave(std::chrono::nanoseconds took) {
  served += took;
  --interested;
}

void FairTurns::acquire(Turn& turn) {
  wanted_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  User& user = users_[turn.account_.user];
  Share& session = user.sessions[turn.account_.session];
  user.enter(level_);
  session.enter(user.level);
  if (!taken_) {
    begin(user, session);
    return;
  }
  const Stopwatch watch;
  Waiter waiter{turn.account_, &user, &session, false, false, {}};
  waiting_.push_back(&waiter);
  waiter.changed.wait(lock, [&] { return waiter.called; });
  turn.waited_ns_ = watch.elapsed_ns();
  turn.holds_others_up_ = waiter.holds_others_up;
}

void FairTurns::release(const Account& account, std::chrono::nanoseconds took) {
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  User& user = users_[account.user];
  user.leave(took);
  user.sessions[account.session].leave(took);
  taken_ = false;
  call_next();
  forget_idle(user);
}

void FairTurns::begin(User& user, const Share& session) {
  taken_ = true;
  level_ = std::max(level_, user.served);
  user.level = std::max(user.level, session.served);
}

void FairTurns::call_next() {
  const auto served = [](const Waiter* waiter) {
    return std::tie(waiter->user->served, waiter->session->served);
  };
  const auto next =
      std::min_element(waiting_.begin(), waiting_.end(),
                       [&](const Waiter* a, const Waiter* b) { return served(a) < served(b); });
  if (next == waiting_.end()) return;
  Waiter* const waiter = *next;
  waiting_.erase(next);
  begin(*waiter->user, *waiter->session);
  waiter->holds_others_up = std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiter* other) {
    return other->account != waiter->account;
  });
  waiter->called = true;
  waiter->changed.notify_one();  // under the lock: afterwards the waiter may be destroyed
}

void FairTurns::forget_idle(User& user) {
  const auto idle = [](const auto& entry) { return entry.second.interested == 0; };
  if (user.sessions.size() > kRemembered) std::erase_if(user.sessions, idle);
  if (users_.size() > kRemembered) std::erase_if(users_, idle);
}

}  // namespace ob
