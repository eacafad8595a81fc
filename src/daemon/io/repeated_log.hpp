#pragma once
// A log that sums up lines which repeat.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace ob::daemon {

/// Writes the first line of each kind and source, and counts the others. After a period, one line
/// tells their number: "and 1480 more like this from 10.0.0.7 in the last 10 s".
/// Threads: any
class RepeatedLog {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<void(const std::string& line)>;

  static constexpr std::chrono::seconds kPeriod{10};

  explicit RepeatedLog(Write write) : write_(std::move(write)) {}

  /// Writes or counts a line.   @param now for tests
  void add(const std::string& source, Code kind, const std::string& line,
           Clock::time_point now = Clock::now());
  /// Writes the counts of periods that are over.
  void write_counts(Clock::time_point now = Clock::now());

 private:
  struct Repeats {
    Clock::time_point since;
    std::size_t count = 0;
  };

  void end_periods(Clock::time_point now);  // @pre mutex_ is held

  const Write write_;
  std::mutex mutex_;
  std::map<std::pair<std::string, Code>, Repeats> repeats_;
};

}  // namespace ob::daemon
