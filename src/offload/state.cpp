#include "offload/state.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::offload {
namespace {

client::ConnectionCache::Config connections_of(const Config& config) {
  client::ConnectionCache::Config wanted;
  wanted.servers = config.servers;
  wanted.connection.streams = config.streams;
  wanted.key_folder = config.key_folder;
  wanted.plain = config.plain;
  wanted.measure_links = config.mode != Mode::trace;  // which connects to nobody
  if (config.learn) wanted.how_measured = client::Thoroughness::thorough;
  return wanted;
}

}  // namespace

std::string_view fft_name(FftKind kind, bool is_double) noexcept {
  switch (kind) {
    case FftKind::c2c: return is_double ? "fftw c2c" : "fftwf c2c";
    case FftKind::r2c: return is_double ? "fftw r2c" : "fftwf r2c";
    case FftKind::c2r: return is_double ? "fftw c2r" : "fftwf c2r";
    case FftKind::r2r: return is_double ? "fftw r2r" : "fftwf r2r";
  }
  return "fftw";
}

State::State(Config given)
    : config(std::move(given)),
      report(config),
      trace(config.trace_path),
      pool(connections_of(config)),
      tuning(config, pool),
      records_(new RoutineRecord[routines::all().size() + kFftRecords]) {
  if (!config.complaint.empty()) notice(config.complaint);
}

RoutineRecord& State::routine(const Descriptor& descriptor) noexcept {
  return records_[static_cast<std::size_t>(&descriptor - routines::all().data())];
}

RoutineRecord& State::fft(const FftPlan& plan) noexcept {
  const bool is_double = plan.precision == Precision::z || plan.precision == Precision::d;
  const std::size_t kind = static_cast<std::size_t>(plan.kind) % kFftKinds;
  return records_[routines::all().size() + 2 * kind + (is_double ? 1 : 0)];
}

ReportRow* State::row(RoutineRecord& record, std::string_view name) noexcept {
  ReportRow* row = record.row.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = report.row(name);
    record.row.store(row, std::memory_order_relaxed);
  }
  return row;
}

bool State::may_leave(RoutineRecord& record, std::string_view name) noexcept {
  if (!record.judged.load(std::memory_order_acquire)) {
    record.allowed.store(config.allows(name), std::memory_order_relaxed);
    record.judged.store(true, std::memory_order_release);
  }
  if (!record.allowed.load(std::memory_order_relaxed)) return false;
  const std::uint64_t until = record.local_until_ns.load(std::memory_order_relaxed);
  return until == 0 || now_ns() >= until;
}

void State::notice(std::string_view text) noexcept {
  if (noticed_.exchange(true)) return;
  report.set_notice(text);
  if (config.quiet) return;
  char line[400];
  const int n = std::snprintf(line, sizeof(line), "outboard: %.*s\n", static_cast<int>(text.size()),
                              text.data());
  const std::size_t length =
      n < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(n), sizeof(line) - 1);
  if (length > 0) line[length - 1] = '\n';
  if (::write(STDERR_FILENO, line, length) < 0) return;
}

}  // namespace ob::offload
