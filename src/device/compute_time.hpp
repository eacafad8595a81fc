#pragma once
// The time of a device that computes one thing at a time.

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

/// One call or transform.
struct Computation {
  Account account;         ///< for whom
  std::uint64_t kind = 0;  ///< computations of equal kind and work take about as long
  double flop = 0;
  std::string_view name;  ///< for people; lives as long as the device
};
Computation computation_of(const Descriptor& routine, double flop, const Account& account) noexcept;
Computation computation_of(const FftPlan& plan, const Account& account) noexcept;

/// Gives out the device's time in fair turns, measures what was done with it, and refuses what
/// would hold others up for too long: a computation whose turn has come while other sessions wait
/// for theirs, and that takes longer than the bound by what was seen of its kind.
/// Threads: any
class ComputeTime {
 public:
  /// @param longest_s the bound; 0: none
  explicit ComputeTime(double longest_s) : longest_s_(longest_s) {}

  /// True while somebody computes or waits for it.
  bool wanted() const noexcept { return turns_.wanted(); }
  /// True while somebody but one who computes waits for it.
  bool waited_for() const noexcept { return turns_.waited_for(); }

  /// Runs compute (a Status()) when its turn has come; adds its times to the report.
  /// Errors: busy, then nothing was run; those of compute
  template <class Compute>
  Status spend(const Computation& what, QueueReport& report, Compute&& compute) {
    const FairTurns::Turn turn(turns_, what.account);
    OB_RETURN_IF_ERROR(admit(turn, what, report));
    const Stopwatch watch;
    Status status = compute();
    count(what, watch.elapsed_ns(), status, report);
    return status;
  }

  /// The same in three steps, for computations that go on by themselves after they were begun:
  /// waits for a turn, which lasts as long as somebody holds it.   Errors: busy
  Result<std::shared_ptr<FairTurns::Turn>> take_turn(const Computation& what, QueueReport& report) {
    auto turn = std::make_shared<FairTurns::Turn>(turns_, what.account);
    OB_RETURN_IF_ERROR(admit(*turn, what, report));
    return turn;
  }
  /// As LearntTimes::predict.
  double predict(const Computation& what) const { return times_.predict(what.kind, what.flop); }
  /// What was begun is done.
  void count(const Computation& what, std::uint64_t took_ns, const Status& status,
             QueueReport& report) {
    report.compute_ns += took_ns;
    if (status.ok()) times_.observe(what.kind, what.flop, static_cast<double>(took_ns) * 1e-9);
  }

 private:
  Status admit(const FairTurns::Turn& turn, const Computation& what, QueueReport& report) const;

  const double longest_s_;
  FairTurns turns_;
  LearntTimes times_;
};

}  // namespace ob
