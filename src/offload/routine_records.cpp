#include "offload/routine_records.hpp"

#include "offload/clock.hpp"

namespace ob::offload {

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
    : config_(config),
      report_(report),
      count_(routines::all().size() + 2 * kFftKinds),
      records_(new RoutineRecord[count_]) {
  const auto routines = routines::all();
  for (std::size_t i = 0; i < routines.size(); ++i) records_[i].name = routines[i].name;
  for (std::size_t i = 0; i < 2 * kFftKinds; ++i) {
    records_[routines.size() + i].name = fft_name(static_cast<FftKind>(i / 2), i % 2 == 1);
  }
}

RoutineRecord& RoutineRecords::of(const Descriptor& routine) noexcept {
  return records_[static_cast<std::size_t>(&routine - routines::all().data())];
}

RoutineRecord& RoutineRecords::of(const FftPlan& plan) noexcept {
  const bool is_double = plan.precision == Precision::z || plan.precision == Precision::d;
  const std::size_t kind = static_cast<std::size_t>(plan.kind) % kFftKinds;
  return records_[routines::all().size() + 2 * kind + (is_double ? 1 : 0)];
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
