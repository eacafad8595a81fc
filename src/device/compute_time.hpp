#pragma once
// Shares out the time of a device that runs one computation at a time.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.hpp"
#include "device/account.hpp"
#include "device/device.hpp"
#include "device/fair_turns.hpp"
#include "device/learnt_times.hpp"
#include "device/stopwatch.hpp"

namespace ob {

/// A call, a transform, or a kernel of a program.
struct Computation {
  Account account;         ///< the client that it is for
  std::uint64_t kind = 0;  ///< computations of equal kind and work take about as long
  double flop = 0;
  std::string_view name;  ///< shown to people; lives as long as the device, or the command
  bool is_kernel = false;
};
Computation computation_of(const Descriptor& routine, double flop, const Account& account) noexcept;
Computation computation_of(const FftPlan& plan, const Account& account) noexcept;

/// Gives out the device's time in fair turns and measures how it is used. Refuses a computation
/// whose turn has come while other sessions wait, if its predicted time exceeds a bound, and tells
/// when to stop one that exceeds it after all.
/// Threads: any
class ComputeTime {
 public:
  /// @param longest_s the bound of predicted times; 0: none
  explicit ComputeTime(double longest_s, const FairTurns::Overlap& overlap = {})
      : longest_(longest_s), turns_(overlap) {}

  /// Returns the number of turns that somebody has or waits for.
  unsigned turns() const noexcept { return static_cast<unsigned>(turns_.wanted()); }
  /// True while anybody computes or waits for a turn.
  bool wanted() const noexcept { return turns_.wanted() != 0; }
  /// True while another session than this one computes or waits for a turn.
  bool wanted_by_others(const Account& account) const { return turns_.wanted_by_others(account); }

  /// Waits for a turn, runs compute (a Status()) and adds its times to the report.
  /// Errors: busy, then compute did not run; those of compute
  template <class Compute>
  Status spend(const Computation& what, QueueReport& report, Compute&& compute) {
    const FairTurns::Turn turn(turns_, what.account);
    OB_RETURN_IF_ERROR(admit(turn, what, report));
    const Stopwatch watch;
    Status status = compute();
    count(what, watch.elapsed_ns(), status, report);
    return status;
  }

  /// Waits for a turn, which lasts as long as the returned object. begin(), predict() and the end
  /// of a computation are separate for devices that compute asynchronously.   Errors: busy
  Result<std::shared_ptr<FairTurns::Turn>> take_turn(const Computation& what, QueueReport& report) {
    auto turn = std::make_shared<FairTurns::Turn>(turns_, what.account);
    OB_RETURN_IF_ERROR(admit(*turn, what, report));
    return turn;
  }
  /// Predicts a time as LearntTimes::predict does.
  double predict(const Computation& what) const { return times_.predict(what.kind, what.flop); }
  /// Errors: busy if a computation of `account` that has taken this long is to end, because other
  ///         sessions want to compute
  Status reason_to_stop(const Account& account, std::chrono::duration<double> took) const;
  /// Records that a computation has finished.
  void count(const Computation& what, std::uint64_t took_ns, const Status& status,
             QueueReport& report) {
    report.compute_ns += took_ns;
    if (what.account.use != nullptr) what.account.use->computed(took_ns);
    if (status.ok()) times_.observe(what.kind, what.flop, static_cast<double>(took_ns) * 1e-9);
  }

 private:
  Status admit(const FairTurns::Turn& turn, const Computation& what, QueueReport& report) const;

  const std::chrono::duration<double> longest_;
  FairTurns turns_;
  LearntTimes times_;
};

}  // namespace ob
