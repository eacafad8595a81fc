#pragma once
// The knowledge of an engine about each routine.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "offload/config.hpp"
#include "offload/report.hpp"
#include "offload/tuning.hpp"
#include "policy/history.hpp"
#include "policy/size_table.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::offload {

/// The knowledge about one routine, or one kind of FFT.   Threads: any
struct RoutineRecord {
  std::string_view name;  ///< "dgemm", "fftw c2c"
  std::atomic<ReportRow*> row{nullptr};
  std::atomic<bool> judged{false};  ///< allowed is valid
  std::atomic<bool> allowed{true};  ///< the answer of Config::routines
  /// A daemon answered that it cannot run the routine. It is asked again after this time.
  std::atomic<std::uint64_t> local_until_ns{0};
  policy::RateTable local;   ///< rates of the caller's own library
  policy::RateTable remote;  ///< rates of the device
  /// Whole remote calls: as the model predicts them, and as they were.   Units: seconds
  policy::SizeTable predicted, seen;
  policy::History history;
  policy::History sharing;  ///< for products; "remote" means both at once, "local" one of them
  std::atomic<const Library*> library{nullptr};     ///< the one that computes locally
  std::atomic<const ServerFacts*> server{nullptr};  ///< whose profile was loaded
};

/// The name of FFTs of this kind in the report: "fftw c2c".
std::string_view fft_name(FftKind kind, bool is_double) noexcept;

/// One record per routines::all() entry, then two per FFT kind (single, double).   Threads: any
class RoutineRecords {
 public:
  RoutineRecords(const Config& config, Report& report);

  RoutineRecord& of(const Descriptor& routine) noexcept;
  RoutineRecord& of(const FftPlan& plan) noexcept;
  std::span<RoutineRecord> all() noexcept { return {records_.get(), count_}; }

  /// The routine's row in the report; nullptr if the report is full.
  ReportRow* row(RoutineRecord& record) noexcept;
  /// True if Config::routines allows the routine to leave the process, and no daemon answered
  /// lately that it cannot do it.
  bool may_leave(RoutineRecord& record) noexcept;

 private:
  const Config& config_;
  Report& report_;
  const std::size_t count_;
  std::unique_ptr<RoutineRecord[]> records_;
};

}  // namespace ob::offload
