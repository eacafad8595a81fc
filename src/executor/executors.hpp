#pragma once
// The executor processes of a device: one for each owner, and one that is ready for the next owner.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "executor/process.hpp"

namespace ob::executor {

/// The clients that share an executor: a user's, or those of one session.
using Owner = std::pair<UserId, SessionId>;

/// Finds or makes the executor of an owner. An executor never changes its owner, because a client
/// may have left anything in its memory. It is a cache of work that can be repeated: executors that
/// are not used for a while end. While there are more than kMost, so does the least recently used
/// one that computes nothing.
/// Threads: any
class Executors {
 public:
  static constexpr std::size_t kMost = 32;
  static constexpr std::chrono::seconds kLongestIdle{60};
  /// An executor that ends more often than this in a minute is not replaced for a while.
  static constexpr std::size_t kMostEnds = 20;
  static constexpr std::chrono::milliseconds kStartTime{10000};

  /// Sees an executor that works and is about to be ended, because its owner has left or does not
  /// use it.   Threads: any
  using Parting = std::function<void(const Owner&, const Process&)>;

  /// Starts the thread that starts executors.
  /// @param most_ends see kMostEnds
  explicit Executors(Program program, std::size_t most_ends = kMostEnds, Parting parting = {});
  /// Ends all executors.   @pre no call of of() runs
  ~Executors();
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// Returns the executor of an owner, a new one if the last has ended.
  /// Errors: unavailable if none can be started; busy if the owner's executors end too often
  Result<std::shared_ptr<Process>> of(const Owner& owner);
  /// Ends the executor of an owner, and forgets it.
  void end(const Owner& owner);
  /// Returns the number of executors of owners that have ended before they were told to.
  std::uint64_t deaths() const noexcept { return deaths_.load(std::memory_order_relaxed); }
  /// Waits until an executor is ready.   Errors: as of()
  Status await_standby();

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    std::shared_ptr<Process> process;
    Clock::time_point used;
    std::deque<Clock::time_point> ends;
  };
  using Processes = std::vector<std::shared_ptr<Process>>;
  using Parted = std::vector<std::pair<Owner, std::shared_ptr<Process>>>;

  Result<std::shared_ptr<Process>> take_standby(std::unique_lock<std::mutex>& lock,
                                                Processes& ended);
  Status check_ends(Held& held) const;
  void note_end(Held& held, Clock::time_point when);
  Parted take_unused();
  void part_with(const Owner& owner, const std::shared_ptr<Process>& process) const;
  void check_folders();
  void run();

  const Program program_;
  const std::size_t most_ends_;
  const Parting parting_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::map<Owner, Held> held_;
  std::shared_ptr<Process> standby_;
  Status no_standby_;
  bool wanted_ = true;
  std::atomic<std::uint64_t> deaths_{0};
  std::atomic<bool> closing_{false};  // read without the lock while an executor starts
  std::thread starter_;
};

}  // namespace ob::executor
