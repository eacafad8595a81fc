#pragma once
// The order of devices' work in time. Tests hold work, and count work that runs concurrently.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace standin {

/// Threads: any
class Timeline {
 public:
  static Timeline& instance();

  /// From now on records when work runs. Holds the work of these functions (names with commas
  /// between, without _v2 and _64) when their stream reaches it.
  void watch(const std::string& held);
  /// Releases the held work, and holds no more.
  void release();
  void release(const std::string& call);
  /// Returns the amount of held work.
  std::uint64_t held();
  /// Returns the amount of work of a function that was submitted since watch() but has not begun.
  std::uint64_t waiting(const std::string& call);
  /// Counts pairs of work of these two functions that ran concurrently in different streams.
  std::uint64_t overlaps(const std::string& call, const std::string& other);

  void submitted(const char* call);
  /// The work of one call while it runs.
  class Running {
   public:
    Running(std::uint64_t stream, const char* call);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::size_t number_ = SIZE_MAX;  // index of its interval; past the end: not watched
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Interval {
    std::uint64_t stream;
    std::string call;
    Clock::time_point begin;
    Clock::time_point end = Clock::time_point::max();  // max: still running
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  bool watching_ = false;
  std::set<std::string> holding_;
  std::uint64_t held_ = 0;
  std::map<std::string, std::int64_t> waiting_;
  std::vector<Interval> intervals_;
};

}  // namespace standin
