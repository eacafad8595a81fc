#pragma once
// A process that watches a rank and says which one was lost.   docs/sial/runtime.md, "Lost ranks"

#include <atomic>
#include <cstdint>

#include "sial/worker/last_line.hpp"

namespace ob::apps {

/// The exit status of a rank that was killed or does not answer.
inline constexpr int kRankLost = 4;

/// Memory that a rank shares with its guard.
struct Watched {
  std::atomic<std::uint32_t> rank = 0;
  std::atomic<bool> is_server = false;
  std::atomic<std::int64_t> liveness_ms = 30'000;  ///< time without a sign of life; 0: no limit
  std::atomic<std::uint64_t> beats = 0;            ///< signs of life
  sial::LastLine last_line;
};

/// Continues in a child process, and watches it from this one. If the child is killed or stops
/// answering, this process writes a line and ends with kRankLost; else it ends as the child does.
/// Call it before the process has threads. Returns in the child; nullptr if there is no guard
/// because the system has no memory or process for it.
Watched* start_guard();

}  // namespace ob::apps
