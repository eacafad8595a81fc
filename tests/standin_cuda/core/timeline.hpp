#pragma once
// The order of devices' work in time: work that is held, and work that runs concurrently.

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

  /// From now on remembers when work ran, and holds that of these functions (names with commas
  /// between, without _v2 and _64) once its stream has come to it.
  void watch(const std::string& held);
  /// Lets go of what is held, and holds no more.
  void release();
  void release(const std::string& call);
  /// How much work is held.
  std::uint64_t held();
  /// How much work of a function was submitted, but not yet begun, while it was watched.
  std::uint64_t waiting(const std::string& call);
  /// Pairs of work of these two functions, in different streams, that ran at the same time.
  std::uint64_t overlaps(const std::string& call, const std::string& other);

  void submitted(const char* call);
  /// The work of one call, while it runs.
  class Running {
   public:
    Running(std::uint64_t stream, const char* call);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::size_t number_ = SIZE_MAX;  // of its interval; beyond all: not watched
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Interval {
    std::uint64_t stream;
    std::string call;
    Clock::time_point begin;
    Clock::time_point end = Clock::time_point::max();  // while it runs
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
