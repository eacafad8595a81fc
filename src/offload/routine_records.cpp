#include "offload/routine_records.hpp"

#include "offload/call_cut.hpp"
#include "offload/clock.hpp"

namespace ob::offload {
namespace {

// FFTs run at a few per cent of a processor's dgemm rate (FFTW against OpenBLAS, 2^22 points: 8 of
// 198 GFLOP/s). On other devices the fraction may be far larger.
constexpr double kFftShare = 0.04;
constexpr double kErrorOfFft = 3;
// The fractions of the table come from processors and from one GPU.
constexpr double kErrorOfProducts = 1.3;
constexpr double kErrorOfLapack = 2.5;

}  // namespace

policy::Rate shipped_here(const RoutineRecord& record, double flop) noexcept {
  const Library* library = record.library.load(std::memory_order_relaxed);
  if (library == nullptr) return {};
  return {policy::shipped_rate(record.name, library->local, flop),
          policy::shipped_error(record.name, library->local, flop)};
}

policy::Rate shipped_there(const RoutineRecord& record, const ServerFacts& facts) noexcept {
  return {facts.flop_per_s * record.device_share, record.device_error};
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
  const auto add = [this](std::string_view name, double share, double error) {
    records_.push_back(std::make_unique<RoutineRecord>(budget_));
    records_.back()->name = name;
    records_.back()->device_share = share;
    records_.back()->device_error = error;
  };
  for (const Descriptor& routine : routines::all()) {
    const bool is_lapack = routine.library == ob::Library::lapack;
    add(routine.name, device_share(routine), is_lapack ? kErrorOfLapack : kErrorOfProducts);
  }
  for (std::size_t i = 0; i < 2 * kFftKinds; ++i)
    add(fft_name(static_cast<FftKind>(i / 2), i % 2 == 1), kFftShare, kErrorOfFft);
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
