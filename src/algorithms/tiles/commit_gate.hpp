#pragma once
// When the results of a call that is computed in parts may replace what the program has: once all
// of them are in hand.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace ob::algorithms {

/// Where a part of a call says that all of its results are in hand.
class Commits {
 public:
  virtual ~Commits() = default;
  /// Runs `commit`, which puts them where they belong and cannot fail, now or later.
  /// Memory: what `commit` uses lives until the call is over
  /// Errors: declined if another part has failed for good; nothing is committed then
  virtual Status ready(std::function<void()> commit) = 0;
};

/// Of a call that is no part of another one: at once.
inline Status commit_or_wait(Commits* commits, std::function<void()> commit) {
  if (commits != nullptr) return commits->ready(std::move(commit));
  commit();
  return {};
}

/// Parts on threads of their own wait for each other.   Threads: any
class CommitGate final : public Commits {
 public:
  explicit CommitGate(std::size_t parts) : missing_(parts) {}

  Status ready(std::function<void()> commit) override;
  /// One of the parts never will be in hand.
  void abort() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;
  bool aborted_ = false;
};

/// Parts of one thread, one after another.   Threads: owner only
class CommitsLater final : public Commits {
 public:
  Status ready(std::function<void()> commit) override {
    waiting_.push_back(std::move(commit));
    return {};
  }
  /// All parts are in hand.
  void commit() {
    for (const auto& one : waiting_) one();
  }

 private:
  std::vector<std::function<void()>> waiting_;
};

}  // namespace ob::algorithms
