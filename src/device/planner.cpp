#include "device/planner.hpp"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "device/host_call.hpp"
#include "device/stopwatch.hpp"

namespace ob {
namespace {

// A client that asks for plans faster than they can be made gets an error: each waiting plan takes
// 1 KiB of host memory.
constexpr unsigned kMaxWaiting = 4096;
constexpr unsigned kMaxWaitingOfUser = kMaxWaiting / 4;

// A session without a proven user counts for itself.
Account owner_of(const Account& account) noexcept {
  return account.user ? Account{account.user, {}} : account;
}

}  // namespace

Status Planner::check(const FftPlan& plan) const {
  OB_RETURN_IF_ERROR(check_plan(plan));
  const std::uint64_t data_bytes = std::max(input_bytes(plan), output_bytes(plan));
  if (data_bytes <= memory_bytes_) return {};
  return {Code::out_of_memory, "a transform of " + std::to_string(data_bytes) +
                                   " bytes cannot be planned (the device has " +
                                   std::to_string(memory_bytes_) +
                                   "); cut the problem, or raise --device-memory"};
}

Status Planner::admit(const Account& account) {
  const std::lock_guard lock(mutex_);
  const Account owner = owner_of(account);
  unsigned& mine = admitted_[owner];
  // A process that uses the device without a daemon may take all.
  const unsigned most = owner == Account{} ? kMaxWaiting : kMaxWaitingOfUser;
  if (mine < most && all_admitted_ < kMaxWaiting) {
    ++mine;
    ++all_admitted_;
    return {};
  }
  const unsigned limit = mine < most ? kMaxWaiting : most;
  if (mine == 0) admitted_.erase(owner);
  return {Code::out_of_memory,
          std::to_string(limit) + " plans are waiting to be made; try again later"};
}

Planner::~Planner() {
  finish();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Planner::submit_work(const Account& account, bool quick, Work work) {
  std::unique_lock lock(mutex_);
  const Account owner = owner_of(account);
  OB_EXPECT(admitted_.contains(owner));
  Waiting fresh{owner, shares_.enter(account), std::move(work)};
  if (quick && !making_ && waiting_.empty()) return make(lock, std::move(fresh));
  waiting_.push_back(std::move(fresh));
  start(lock);
}

// Without a thread, because the system has no more, the submitting one makes the plans.
void Planner::start(std::unique_lock<std::mutex>& lock) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
      pthread_setname_np(thread_.native_handle(), "ob-planner");
    } catch (const std::system_error&) {
      while (!waiting_.empty()) {
        changed_.wait(lock, [this] { return !making_; });
        if (!waiting_.empty()) make_next(lock);
      }
      return;
    }
  }
  changed_.notify_all();
}

void Planner::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || (!making_ && !waiting_.empty()); });
    if (stopping_) return;
    make_next(lock);
  }
}

void Planner::make_next(std::unique_lock<std::mutex>& lock) {
  const auto next = std::min_element(
      waiting_.begin(), waiting_.end(),
      [](const Waiting& a, const Waiting& b) { return a.claim.served() < b.claim.served(); });
  Waiting taken = std::move(*next);
  waiting_.erase(next);
  make(lock, std::move(taken));
}

void Planner::make(std::unique_lock<std::mutex>& lock, Waiting next) {
  making_ = true;
  shares_.begin(next.claim);
  lock.unlock();
  const Stopwatch watch;
  next.work();
  next.work = nullptr;  // releases the plan before the planner counts as idle
  const std::chrono::nanoseconds took(watch.elapsed_ns());
  lock.lock();
  shares_.leave(next.claim, took);
  --all_admitted_;
  const auto admitted = admitted_.find(next.owner);
  if (--admitted->second == 0) admitted_.erase(admitted);
  making_ = false;
  changed_.notify_all();
}

void Planner::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !making_ && waiting_.empty(); });
}

}  // namespace ob
