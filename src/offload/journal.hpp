#pragma once
// The messages of an engine to its user: counters, a timeline, and one line on stderr.

#include <atomic>
#include <string_view>

#include "base/trace.hpp"
#include "offload/config.hpp"
#include "offload/report.hpp"

namespace ob::offload {

/// Threads: any
class Journal {
 public:
  explicit Journal(const Config& config)
      : report(config), trace(config.trace_path), quiet_(config.quiet) {}

  Report report;
  Trace trace;

  /// Writes `text` to stderr, unless Config::quiet is set or a line was written before. The report
  /// keeps the first text in any case.
  void notice(std::string_view text) noexcept;

 private:
  const bool quiet_;
  std::atomic<bool> noticed_{false};
};

}  // namespace ob::offload
