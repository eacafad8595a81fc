#pragma once
// The trace of a runtime, as the program's threads see it.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/trace.hpp"
#include "overlap/clock.hpp"
#include "overlap/run.hpp"

namespace ob::overlap {

/// Writes spans of the program's calls and of the computation between them ("tile"), the time of
/// each message, and an arrow from each start to its wait. Without a trace each function is one
/// branch.
/// Threads: entered() and called() any; the others as Runtime::start()
class Timeline {
 public:
  explicit Timeline(const std::string& path) : trace_(path) {}

  /// Returns the trace for other parts, or null if there is none.
  Trace* trace() noexcept { return trace_.wanted() ? &trace_ : nullptr; }
  void name_rank(int rank);

  /// Returns the time at which a call of the program begins, or 0 without a trace.
  std::int64_t entered() const noexcept { return trace_.wanted() ? now_ns() : 0; }

  // The ends of calls that began at `since`.
  void started(const std::string& plan, Run& run, std::int64_t since) {
    if (trace_.wanted()) note_start(plan, run, since);
  }
  /// @param function "tick" or "ready"
  void called(const char* function, bool moved, std::int64_t since) {
    if (trace_.wanted()) note_call(function, moved, since);
  }
  void waited(const std::string& plan, Run& run, std::int64_t since) {
    if (trace_.wanted()) note_wait(plan, run, since);
  }
  /// A plan ends. The program may not have waited for the run.
  void ended(Run& run) noexcept;

 private:
  void note_start(const std::string& plan, Run& run, std::int64_t since);
  void note_call(const char* function, bool moved, std::int64_t since);
  void note_wait(const std::string& plan, Run& run, std::int64_t since);
  void note_messages(const std::string& plan, const Exchange& exchange, std::int64_t since);
  std::int64_t tile_begin() const noexcept;
  void end_tile(std::int64_t end);

  Trace trace_;
  std::atomic<int> under_way_{0};          ///< runs between start() and wait()
  std::atomic<std::int64_t> began_ns_{0};  ///< the end of the first start() of these
};

}  // namespace ob::overlap
