#pragma once
// What the parts of an engine share: settings, connections, and what is known of routines, servers
// and libraries.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/page_tracker.hpp"
#include "client/connection_cache.hpp"
#include "offload/clock.hpp"
#include "offload/config.hpp"
#include "offload/factor_plans.hpp"
#include "offload/peer_rates.hpp"
#include "offload/report.hpp"
#include "offload/trace.hpp"
#include "offload/tuning.hpp"
#include "policy/decision.hpp"
#include "policy/history.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

/// What is known of one routine (or FFT kind) in this process.
struct RoutineRecord {
  std::atomic<ReportRow*> row{nullptr};
  std::atomic<bool> judged{false};  ///< allowed is valid
  std::atomic<bool> allowed{true};  ///< OUTBOARD_ROUTINES
  /// the daemon cannot do it; asked again after this
  std::atomic<std::uint64_t> local_until_ns{0};
  policy::RateTable local;   ///< rates of the caller's own library
  policy::RateTable remote;  ///< rates of the device
  /// Whole remote calls, as the model would have had them and as they were.   Units: seconds
  policy::SizeTable predicted, seen;
  policy::History history;
  policy::History sharing;  ///< of products: "there" is by both at once, "here" by the better one
  std::atomic<const Library*> library{nullptr};     ///< the one that computes here
  std::atomic<const ServerFacts*> server{nullptr};  ///< whose profile was taken over
};

/// What the report calls FFTs of this kind: "fftw c2c".
std::string_view fft_name(FftKind kind, bool is_double) noexcept;

struct State {
  explicit State(Config given);

  Config config;
  Report report;
  Trace trace;
  client::ConnectionCache pool;
  PageTracker pages;
  PeerRates peer_rates;
  FactorPlans factor_plans;
  Tuning tuning;
  /// Time of local runs that were too short each to make a first connection for.   Units: ns
  std::atomic<std::uint64_t> short_runs_ns{0};

  /// One record per routines::all() entry, then two per FFT kind (single, double).
  RoutineRecord& routine(const Descriptor& descriptor) noexcept;
  RoutineRecord& fft(const FftPlan& plan) noexcept;
  ReportRow* row(RoutineRecord& record, std::string_view name) noexcept;
  /// Calls visit(record, name) for each.
  template <class Visit>
  void each_record(Visit&& visit) {
    const auto routines = routines::all();
    for (std::size_t i = 0; i < routines.size(); ++i) visit(records_[i], routines[i].name);
    for (std::size_t i = 0; i < kFftRecords; ++i)
      visit(records_[routines.size() + i], fft_name(static_cast<FftKind>(i / 2), i % 2 == 1));
  }
  /// OUTBOARD_ROUTINES lets `name` leave, and no daemon said lately that it cannot do it.
  bool may_leave(RoutineRecord& record, std::string_view name) noexcept;

  /// Says `text` on stderr, if nothing was said before and OUTBOARD_QUIET is not set. Noted in the
  /// report too.
  void notice(std::string_view text) noexcept;

 private:
  static constexpr std::size_t kFftRecords = 2 * kFftKinds;

  std::unique_ptr<RoutineRecord[]> records_;
  std::atomic<bool> noticed_{false};
};

}  // namespace ob::offload
