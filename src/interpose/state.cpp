#include "interpose/state.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <new>
#include <string>

#include "interpose/call.hpp"
#include "interpose/learning.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

namespace {

// In mode auto smaller calls cannot win: a remote call costs some 10 us at least, in which a core
// does about this.
constexpr double kAutomaticGateFlop = 1e6;

enum Phase : int { kNone, kMaking, kReady, kClosed };
constinit std::atomic<int> g_phase{kNone};
constinit std::atomic<State*> g_state{nullptr};
constinit thread_local bool t_making = false;
constinit thread_local int t_depth = 0;

double gate_of(const Settings& settings, bool report_wanted) noexcept {
  if (settings.mode == Mode::off) return std::numeric_limits<double>::infinity();
  if (settings.mode != Mode::automatic || report_wanted) return 0;
  return settings.servers.empty() ? std::numeric_limits<double>::infinity() : kAutomaticGateFlop;
}

// A child shares nothing with its parent but memory that nobody else touches: it drops all and
// starts anew.
void start_anew_in_child() noexcept {
  client::close_inherited_connections();
  State* const inherited = g_state.load(std::memory_order_relaxed);
  if (inherited != nullptr) inherited->pages.close_inherited();
  // the parent's state is leaked here, locks and all
  g_state.store(nullptr, std::memory_order_relaxed);
  if (g_phase.load(std::memory_order_relaxed) != kClosed) {
    g_phase.store(kNone, std::memory_order_relaxed);
    g_min_flops.store(0, std::memory_order_relaxed);
  }
}

// Before anybody makes the state: a child forked in between would wait for its parent's thread.
void handle_fork() noexcept {
  static std::atomic<bool> handled{false};
  if (!handled.exchange(true)) pthread_atfork(nullptr, nullptr, start_anew_in_child);
}

void make_state() noexcept {
  t_making = true;
  State* made = nullptr;
  try {
    made = new State;
  } catch (...) {  // no memory: the program goes on as if we were not there
  }
  t_making = false;
  const double gate = made != nullptr ? gate_of(made->settings, made->report.wanted())
                                      : std::numeric_limits<double>::infinity();
  g_state.store(made, std::memory_order_release);
  g_min_flops.store(gate, std::memory_order_relaxed);
  int making = kMaking;
  g_phase.compare_exchange_strong(making, kReady, std::memory_order_release);
}

client::ConnectionCache::Config pool_config(const Settings& settings) {
  client::ConnectionCache::Config config;
  config.servers = settings.servers;
  config.connection.streams = settings.streams;
  config.key_folder = settings.key_folder;
  config.plain = settings.plain;
  config.measure_links = settings.mode != Mode::trace;  // which connects to nobody
  if (settings.learn) config.how_measured = client::Thoroughness::thorough;
  return config;
}

// Late destructors and other libraries may still call: they find the library closed and go native.
__attribute__((destructor)) void close_library() {
  const int saved = errno;
  const int before = g_phase.exchange(kClosed);
  g_min_flops.store(std::numeric_limits<double>::infinity(), std::memory_order_relaxed);
  State* last = g_state.load(std::memory_order_acquire);
  if (before == kReady && last != nullptr) {
    last->report.print();
    save_profiles(*last);
  }
  errno = saved;
}

}  // namespace

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

State* state() noexcept {
  for (;;) {
    int phase = g_phase.load(std::memory_order_acquire);
    if (phase == kReady) {
      State* ready = g_state.load(std::memory_order_acquire);
      return ready != nullptr && ready->settings.mode != Mode::off ? ready : nullptr;
    }
    if (phase == kClosed || t_making) return nullptr;
    handle_fork();
    if (phase == kNone && g_phase.compare_exchange_strong(phase, kMaking)) make_state();
    // another thread reads the environment: microseconds
    else if (phase == kMaking)
      ::sched_yield();
  }
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

State::State()
    : settings(read_settings()),
      report(settings),
      trace(settings.trace_path),
      pool(pool_config(settings)),
      tuning(settings, pool),
      records_(new RoutineRecord[routines::all().size() + kFftRecords]) {
  if (!settings.complaint.empty()) notice(settings.complaint);
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
    record.allowed.store(settings.allows(name), std::memory_order_relaxed);
    record.judged.store(true, std::memory_order_release);
  }
  if (!record.allowed.load(std::memory_order_relaxed)) return false;
  const std::uint64_t until = record.local_until_ns.load(std::memory_order_relaxed);
  return until == 0 || now_ns() >= until;
}

void State::notice(std::string_view text) noexcept {
  if (noticed_.exchange(true)) return;
  report.set_notice(text);
  if (settings.quiet) return;
  char line[400];
  const int n = std::snprintf(line, sizeof(line), "outboard: %.*s\n", static_cast<int>(text.size()),
                              text.data());
  const std::size_t length =
      n < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(n), sizeof(line) - 1);
  if (length > 0) line[length - 1] = '\n';
  if (::write(STDERR_FILENO, line, length) < 0) return;
}

Nesting::Nesting() noexcept : outermost_(t_depth++ == 0) {}
Nesting::~Nesting() { --t_depth; }

}  // namespace ob::interpose
