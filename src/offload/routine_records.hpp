#pragma once
// The knowledge of an engine about each routine.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "offload/config.hpp"
#include "offload/report.hpp"
#include "offload/tuning.hpp"
#include "policy/estimate.hpp"
#include "policy/history.hpp"
#include "policy/loss_budget.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

enum class StrictSide : std::uint8_t { undecided, local, remote };

/// The rate that a device is expected to reach with a routine, relative to figures that it tells.
struct DeviceExpectation {
  /// The part of the rate of products, and the factor by which the result may be wrong.
  double share_of_products = 1;
  double error = 1;
  bool is_lapack = false;
  /// The same for the rate of a family, if the device measured it.
  RateFamily family = RateFamily::none;
  double share_of_family = 1;
  double error_in_family = 1;
};

/// The knowledge about one routine, or one kind of FFT.   Threads: any
struct RoutineRecord {
  explicit RoutineRecord(policy::LossBudget& of_engine) noexcept : budget(of_engine) {}

  policy::LossBudget& budget;
  std::string_view name;  ///< "dgemm", "fftw c2c"
  /// The rate of devices, until a run was measured.
  DeviceExpectation device;
  std::atomic<ReportRow*> row{nullptr};
  std::atomic<bool> judged{false};  ///< allowed is valid
  std::atomic<bool> allowed{true};  ///< the answer of Config::routines
  /// A daemon answered that it cannot run the routine. It is asked again after this time.
  std::atomic<std::uint64_t> local_until_ns{0};
  /// The device computes on the program's own cores, and its library is no better. This is final.
  std::atomic<bool> never_gains{false};
  policy::RoutineRates rates;
  policy::History history{budget};
  /// For products; "remote" means both at once, "local" one of them. It has a budget of its own, so
  /// that no call counts twice.
  policy::LossBudget of_sharing;
  policy::History sharing{of_sharing};
  /// Accuracy::strict: the side of all calls, from the first one that was decided.
  std::atomic<StrictSide> strict_side{StrictSide::undecided};
  std::atomic<const Library*> library{nullptr};     ///< the one that computes locally
  std::atomic<const ServerFacts*> server{nullptr};  ///< whose profile was loaded
};

/// The rate of the local library for one call of so much work, as it ships; 0 if the library is
/// unknown.
policy::Rate shipped_here(const RoutineRecord& record, double flop) noexcept;

/// The rate that no call of the local library exceeds; 0 if it is unknown.   Units: flop/s
double most_here(const RoutineRecord& record) noexcept;

/// The rate of the device for one call of so much work, from the figures that it told.
policy::Rate shipped_there(const RoutineRecord& record, const ServerFacts& facts,
                           double flop) noexcept;

/// The name of FFTs of this kind in the report: "fftw c2c".
std::string_view fft_name(FftKind kind, bool is_double) noexcept;

/// One record per routines::all() entry, then two per FFT kind (single, double).   Threads: any
class RoutineRecords {
 public:
  RoutineRecords(const Config& config, Report& report);

  /// The time that the engine may cost the program.
  policy::LossBudget& budget() noexcept { return budget_; }

  RoutineRecord& of(const Descriptor& routine) noexcept;
  RoutineRecord& of(const FftPlan& plan) noexcept;
  std::span<const std::unique_ptr<RoutineRecord>> all() const noexcept { return records_; }

  /// The routine's row in the report; nullptr if the report is full.
  ReportRow* row(RoutineRecord& record) noexcept;
  /// True if Config::routines allows the routine to leave the process, and no daemon answered
  /// lately that it cannot do it.
  bool may_leave(RoutineRecord& record) noexcept;

 private:
  const Config& config_;
  Report& report_;
  policy::LossBudget budget_;
  std::vector<std::unique_ptr<RoutineRecord>> records_;
};

}  // namespace ob::offload
