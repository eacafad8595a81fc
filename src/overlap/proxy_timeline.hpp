#pragma once

#include <cstdint>

#include "base/trace.hpp"
#include "overlap/scoped_span.hpp"

namespace ob::overlap {

/// The trace of the proxy. Tests that follow each other, with short naps between them, are one span
/// that ends with the one that moved something: each takes about a microsecond.
/// Threads: the proxy
class ProxyTimeline {
 public:
  /// @param trace or null
  explicit ProxyTimeline(Trace* trace) noexcept : trace_(trace) {}

  Trace* trace() const noexcept { return trace_; }
  /// Returns the time at which a test or a nap begins, or 0 without a trace.
  std::int64_t now() const noexcept { return trace_ == nullptr ? 0 : now_ns(); }
  void tested(std::int64_t since, bool moved) noexcept {
    if (trace_ == nullptr) return;
    if (tests_++ == 0) began_ns_ = since;
    last_ns_ = now_ns();
    if (moved) end_tests();
  }
  void napped(std::int64_t since) noexcept {
    if (trace_ == nullptr) return;
    const std::int64_t until = now_ns();
    if (until - since < kShort) return;
    end_tests();
    span("nap", since, until, {});
  }
  void end_tests() noexcept {
    if (tests_ > 0) span("test", began_ns_, last_ns_, {{"tests", tests_}});
    tests_ = 0;
  }

 private:
  static constexpr std::int64_t kShort = 100'000;  ///< between both kinds of naps of the proxy

  void span(const char* name, std::int64_t begin, std::int64_t end, TraceArguments all) noexcept {
    trace_->span(name, kTraceCategory, std::uint64_t(begin), std::uint64_t(end), all);
  }

  Trace* const trace_;
  std::int64_t began_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t tests_ = 0;
};

}  // namespace ob::overlap
