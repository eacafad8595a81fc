#pragma once
// Decides when the results of a call in parts may replace the program's data: after the results of
// all parts have arrived.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace ob::algorithms {

/// A part of a call reports here that all of its results have arrived.
class Commits {
 public:
  virtual ~Commits() = default;
  /// Runs `commit` now or later. `commit` writes the results to the program's memory and cannot
  /// fail.
  /// Memory: the memory that `commit` uses lives until the call returns
  /// Errors: declined if another part has failed permanently; then no part is committed
  virtual Status ready(std::function<void()> commit) = 0;
};

/// Reports to `commits`, or runs `commit` at once if the call is not a part of another one.
inline Status commit_or_wait(Commits* commits, std::function<void()> commit) {
  if (commits != nullptr) return commits->ready(std::move(commit));
  commit();
  return {};
}

/// For parts on separate threads, which wait for each other.   Threads: any
class CommitGate final : public Commits {
 public:
  explicit CommitGate(std::size_t parts) : missing_(parts) {}

  Status ready(std::function<void()> commit) override;
  /// Reports that the results of one part will never arrive.
  void abort() noexcept;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t missing_;
  bool aborted_ = false;
};

/// For parts that one thread runs one after another.   Threads: owner only
class CommitsLater final : public Commits {
 public:
  Status ready(std::function<void()> commit) override {
    waiting_.push_back(std::move(commit));
    return {};
  }
  /// Commits all parts.
  /// @pre the results of all parts have arrived
  void commit() {
    for (const auto& one : waiting_) one();
  }

 private:
  std::vector<std::function<void()>> waiting_;
};

}  // namespace ob::algorithms
