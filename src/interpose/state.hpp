#pragma once
// The drop-in library's one process state: made at the first call that matters, never destroyed,
// replaced by nothing in a forked child (which makes its own), out of reach once the library's
// destructor ran.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/page_tracker.hpp"
#include "client/device_pool.hpp"
#include "interpose/nesting.hpp"
#include "interpose/report.hpp"
#include "interpose/settings.hpp"
#include "interpose/trace.hpp"
#include "policy/decision.hpp"

namespace ob::interpose {

/// What is known of one routine (or FFT kind) in this process.
struct RoutineRecord {
  std::atomic<ReportRow*> row{nullptr};
  std::atomic<bool> judged{false};  ///< allowed is valid
  std::atomic<bool> allowed{true};  ///< OUTBOARD_ROUTINES
  /// the daemon cannot do it; asked again after this
  std::atomic<std::uint64_t> local_until_ns{0};
  policy::RateTable local;   ///< rates of the caller's own library
  policy::RateTable remote;  ///< rates of the device
  policy::RateTable whole;   ///< rates of remote calls as the program saw them
  /// Calls that stay local against the model before it is tried again; 0 at first.
  std::atomic<std::uint32_t> retry_after{0};
  std::atomic<std::uint32_t> overruled{0};  ///< such calls since the last retry
};

struct State {
  State();

  Settings settings;
  Report report;
  Trace trace;
  client::DevicePool pool;
  PageTracker pages;

  /// One record per routines::all() entry, then two per FFT kind (single, double).
  RoutineRecord& routine(const Descriptor& descriptor) noexcept;
  RoutineRecord& fft(const FftPlan& plan) noexcept;
  ReportRow* row(RoutineRecord& record, std::string_view name) noexcept;
  /// OUTBOARD_ROUTINES lets `name` leave, and no daemon said lately that it cannot do it.
  bool may_leave(RoutineRecord& record, std::string_view name) noexcept;

  /// Says `text` on stderr, if nothing was said before and OUTBOARD_QUIET is not set. Noted in the
  /// report too.
  void notice(std::string_view text) noexcept;

 private:
  std::unique_ptr<RoutineRecord[]> records_;
  std::atomic<bool> noticed_{false};
};

/// The state; nullptr before it can be made, in mode off, while this thread is making it, and at
/// the very end.
/// Threads: any. First call reads the environment; no connection is made.
State* state() noexcept;

/// Nanoseconds of the steady clock.
std::uint64_t now_ns() noexcept;

}  // namespace ob::interpose
