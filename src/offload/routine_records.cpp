#include "offload/routine_records.hpp"

#include "offload/call_cut.hpp"
#include "offload/clock.hpp"
#include "policy/device_rates.hpp"
#include "routines/rate_family.hpp"

namespace ob::offload {
namespace {

// FFTs run at a few per cent of a processor's dgemm rate (FFTW against OpenBLAS, 2^22 points: 8 of
// 198 GFLOP/s). On other devices the fraction may be far larger.
constexpr double kFftShare = 0.04;
constexpr double kErrorOfFft = 3;
// The fractions of the table come from processors and from one GPU.
constexpr double kErrorOfProducts = 1.3;
constexpr double kErrorOfLapack = 2.5;
// This is for a device that is a processor: its clock and its threads are not known.
constexpr double kErrorOfProcessors = 1.3;
// A relative of the measured routine, or another precision.
constexpr double kErrorOfRelatives = 1.5;

DeviceExpectation expect(const Descriptor& routine) {
  const bool is_lapack = routine.library == ob::Library::lapack;
  DeviceExpectation device{.share_of_products = device_share(routine),
                           .error = is_lapack ? kErrorOfLapack : kErrorOfProducts,
                           .is_lapack = is_lapack,
                           .family = rate_family(routine)};
  for (const MeasuredRoutine& measured : measured_routines()) {
    if (measured.family != device.family) continue;
    const bool is_measured = measured.name == routine.name;
    device.share_of_family = device.share_of_products / routines::find(measured.name)->efficiency;
    device.error_in_family = is_measured ? 1 : kErrorOfRelatives;
  }
  return device;
}

DeviceExpectation expect(FftKind kind, bool is_double) {
  const bool is_measured = kind == FftKind::c2c && is_double;
  return {.share_of_products = kFftShare,
          .error = kErrorOfFft,
          .family = rate_family(kind),
          .error_in_family = is_measured ? 1 : kErrorOfRelatives};
}

}  // namespace

policy::Rate shipped_here(const RoutineRecord& record, double flop) noexcept {
  const Library* library = record.library.load(std::memory_order_relaxed);
  if (library == nullptr) return {};
  return {policy::shipped_rate(record.name, library->local, flop),
          policy::shipped_error(record.name, library->local, flop)};
}

double most_here(const RoutineRecord& record) noexcept {
  const Library* library = record.library.load(std::memory_order_relaxed);
  return library == nullptr ? 0 : policy::most_rate(record.name, library->local);
}

policy::Rate shipped_there(const RoutineRecord& record, const ServerFacts& facts,
                           double flop) noexcept {
  const DeviceExpectation& device = record.device;
  const policy::Rate family = policy::measured_rate(facts.routine_rates, device.family, flop);
  if (family.flop_per_s > 0) {
    return {family.flop_per_s * device.share_of_family, family.error * device.error_in_family};
  }
  const policy::LocalLibrary& processor = facts.processor_library;
  if (device.is_lapack && processor.kind != policy::LibraryKind::unknown) {
    return {policy::shipped_rate(record.name, processor, flop),
            kErrorOfProcessors * policy::shipped_error(record.name, processor, flop)};
  }
  return {facts.flop_per_s * device.share_of_products, device.error};
}

std::string_view fft_name(FftKind kind, bool is_double) noexcept {
  switch (kind) {
    case FftKind::c2c: return is_double ? "fftw c2c" : "fftwf c2c";
    case FftKind::r2c: return is_double ? "fftw r2c" : "fftwf r2c";
    case FftKind::c2r: return is_double ? "fftw c2r" : "fftwf c2r";
    case FftKind::r2r: return is_double ? "fftw r2r" : "fftwf r2r";
  }
  return "fftw";
}

RoutineRecords::RoutineRecords(const Config& config, Report& report)
    : config_(config), report_(report) {
  const auto add = [this](std::string_view name, const DeviceExpectation& device) {
    records_.push_back(std::make_unique<RoutineRecord>(budget_));
    records_.back()->name = name;
    records_.back()->device = device;
  };
  for (const Descriptor& routine : routines::all()) add(routine.name, expect(routine));
  for (std::size_t i = 0; i < 2 * kFftKinds; ++i) {
    const auto kind = static_cast<FftKind>(i / 2);
    const bool is_double = i % 2 == 1;
    add(fft_name(kind, is_double), expect(kind, is_double));
  }
}

RoutineRecord& RoutineRecords::of(const Descriptor& routine) noexcept {
  return *records_[static_cast<std::size_t>(&routine - routines::all().data())];
}

RoutineRecord& RoutineRecords::of(const FftPlan& plan) noexcept {
  const bool is_double = plan.precision == Precision::z || plan.precision == Precision::d;
  const std::size_t kind = static_cast<std::size_t>(plan.kind) % kFftKinds;
  return *records_[routines::all().size() + 2 * kind + (is_double ? 1 : 0)];
}

ReportRow* RoutineRecords::row(RoutineRecord& record) noexcept {
  ReportRow* row = record.row.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = report_.row(record.name);
    record.row.store(row, std::memory_order_relaxed);
  }
  return row;
}

bool RoutineRecords::may_leave(RoutineRecord& record) noexcept {
  if (!record.judged.load(std::memory_order_acquire)) {
    record.allowed.store(config_.allows(record.name), std::memory_order_relaxed);
    record.judged.store(true, std::memory_order_release);
  }
  if (!record.allowed.load(std::memory_order_relaxed)) return false;
  const std::uint64_t until = record.local_until_ns.load(std::memory_order_relaxed);
  return until == 0 || now_ns() >= until;
}

}  // namespace ob::offload
