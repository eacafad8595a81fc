#include "executor/executors.hpp"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "base/contained.hpp"

namespace ob::executor {

Executors::Executors(Program program, std::size_t most_ends, Parting parting)
    : program_(std::move(program)),
      most_ends_(most_ends),
      parting_(std::move(parting)),
      starter_([this] { run(); }) {
  pthread_setname_np(starter_.native_handle(), "ob-executors");
}

Executors::~Executors() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  starter_.join();
}

void Executors::end(const Owner& owner) {
  std::map<Owner, Held>::node_type ended;  // ends after the lock is released
  {
    const std::lock_guard lock(mutex_);
    ended = held_.extract(owner);
    // A client often leaves because its process has ended.
    if (!ended.empty() && ended.mapped().process != nullptr && ended.mapped().process->ended()) {
      note_end(ended.mapped(), Clock::now());
    }
  }
  if (!ended.empty()) part_with(owner, ended.mapped().process);
}

void Executors::part_with(const Owner& owner, const std::shared_ptr<Process>& process) const {
  if (parting_ && process != nullptr && !process->ended()) parting_(owner, *process);
}

Status Executors::await_standby() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return standby_ != nullptr || !no_standby_.ok(); });
  return standby_ != nullptr ? Status() : no_standby_;
}

Result<std::shared_ptr<Process>> Executors::of(const Owner& owner) {
  Processes ended;  // end after the lock is released
  std::unique_lock lock(mutex_);
  Held& held = held_[owner];
  held.used = Clock::now();
  if (held.process != nullptr && !held.process->ended()) return held.process;
  if (held.process != nullptr) {
    ended.push_back(std::move(held.process));
    note_end(held, held.used);
  }
  OB_RETURN_IF_ERROR(check_ends(held));
  OB_ASSIGN_OR_RETURN(auto process, take_standby(lock, ended));
  Held& now = held_[owner];
  now.used = Clock::now();
  if (now.process != nullptr && now.process->ended()) {
    ended.push_back(std::move(now.process));
    note_end(now, now.used);
  }
  if (now.process == nullptr) {
    now.process = std::move(process);
  } else if (standby_ == nullptr) {  // another thread was faster
    standby_ = std::move(process);
  } else {
    ended.push_back(std::move(process));
  }
  return now.process;
}

// @pre mutex_ is held
void Executors::note_end(Held& held, Clock::time_point when) {
  held.ends.push_back(when);
  deaths_.fetch_add(1, std::memory_order_relaxed);
}

// Forgets the ends before the last minute, and counts the others.
Status Executors::check_ends(Held& held) const {
  const auto minute_ago = Clock::now() - std::chrono::minutes(1);
  while (!held.ends.empty() && held.ends.front() < minute_ago) held.ends.pop_front();
  if (held.ends.size() <= most_ends_) return {};
  return {Code::busy, "the executors of this client ended " + std::to_string(held.ends.size()) +
                          " times in a minute; try again later"};
}

// @param ended receives executors that have ended while they waited for an owner
Result<std::shared_ptr<Process>> Executors::take_standby(std::unique_lock<std::mutex>& lock,
                                                         Processes& ended) {
  for (;;) {
    changed_.wait(lock, [this] { return standby_ != nullptr || !no_standby_.ok() || closing_; });
    wanted_ = true;  // a failure is tried again by the next call
    changed_.notify_all();
    std::shared_ptr<Process> taken = std::exchange(standby_, nullptr);
    if (taken == nullptr) {
      if (no_standby_.ok()) return Status(Code::unavailable, "the device is closing");
      return std::exchange(no_standby_, Status());
    }
    if (!taken->ended()) return taken;
    ended.push_back(std::move(taken));
  }
}

// Takes the executors that were not used for long, or are too many.   @pre mutex_ is held
Executors::Parted Executors::take_unused() {
  Parted unused;
  const auto now = Clock::now();
  std::size_t alive = 0;
  auto oldest = held_.end();
  for (auto at = held_.begin(); at != held_.end();) {
    Held& held = at->second;
    const bool free = held.process != nullptr && held.process.use_count() == 1;
    const bool has_ended = free && held.process->ended();
    if (has_ended) note_end(held, now);
    if (has_ended || (free && now - held.used > kLongestIdle)) {
      unused.emplace_back(at->first, std::move(held.process));
    }
    if (held.process == nullptr && now - held.used > kLongestIdle) {
      at = held_.erase(at);
      continue;
    }
    if (held.process != nullptr) ++alive;
    if (free && held.process != nullptr &&
        (oldest == held_.end() || held.used < oldest->second.used)) {
      oldest = at;
    }
    ++at;
  }
  if (alive > kMost && oldest != held_.end()) {
    unused.emplace_back(oldest->first, std::move(oldest->second.process));
  }
  return unused;
}

// An executor may have been taken over, so that it fills its folder between requests, too.
void Executors::check_folders() {
  Processes all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, held] : held_) {
      if (held.process != nullptr && !held.process->folder().empty()) all.push_back(held.process);
    }
  }
  for (const auto& process : all) process->check_folder();
}

// The thread that starts executors, which die with it, and ends unused ones.
void Executors::run() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    Parted unused = take_unused();
    const bool start = wanted_ && standby_ == nullptr;
    lock.unlock();
    for (const auto& [owner, process] : unused) part_with(owner, process);
    unused.clear();
    check_folders();
    std::shared_ptr<Process> made;
    Status failure;
    if (start) {
      failure = contained([&]() -> Status {
        OB_ASSIGN_OR_RETURN(auto started, Process::start(program_));
        OB_RETURN_IF_ERROR(started->await_ready(kStartTime, closing_));
        made = std::move(started);
        return {};
      });
    }
    lock.lock();
    if (start) {
      wanted_ = false;
      standby_ = std::move(made);
      no_standby_ = failure;
      changed_.notify_all();
    } else {
      changed_.wait_for(lock, std::chrono::seconds(1),
                        [this] { return closing_ || (wanted_ && standby_ == nullptr); });
    }
  }
  // Executors die with the thread that started them: end them here, where this is expected.
  std::map<Owner, Held> held = std::move(held_);
  held_.clear();
  std::shared_ptr<Process> standby = std::move(standby_);
  changed_.notify_all();
  lock.unlock();
}

}  // namespace ob::executor
