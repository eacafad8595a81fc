#include "interpose/process_engine.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <limits>

#include "interpose/call.hpp"
#include "interpose/settings.hpp"
#include "offload/profiles.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

namespace {

// In mode auto smaller calls cannot win: a remote call costs some 10 us at least, in which a core
// does about this.
constexpr double kAutomaticGateFlop = 1e6;

enum Phase : int { kNone, kMaking, kReady, kClosed };
constinit std::atomic<int> g_phase{kNone};
constinit std::atomic<offload::State*> g_state{nullptr};
constinit thread_local bool t_making = false;

double gate_of(const offload::Config& config, bool report_wanted) noexcept {
  if (config.mode == offload::Mode::off) return std::numeric_limits<double>::infinity();
  if (config.mode != offload::Mode::automatic || report_wanted) return 0;
  return config.servers.empty() ? std::numeric_limits<double>::infinity() : kAutomaticGateFlop;
}

// A child shares nothing with its parent but memory that nobody else touches: it drops all and
// starts anew.
void start_anew_in_child() noexcept {
  client::close_inherited_connections();
  offload::State* const inherited = g_state.load(std::memory_order_relaxed);
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
  offload::State* made = nullptr;
  try {
    made = new offload::State(read_settings());
  } catch (...) {  // no memory: the program goes on as if we were not there
  }
  t_making = false;
  const double gate = made != nullptr ? gate_of(made->config, made->report.wanted())
                                      : std::numeric_limits<double>::infinity();
  g_state.store(made, std::memory_order_release);
  g_min_flops.store(gate, std::memory_order_relaxed);
  int making = kMaking;
  g_phase.compare_exchange_strong(making, kReady, std::memory_order_release);
}

// Late destructors and other libraries may still call: they find the library closed and go native.
__attribute__((destructor)) void close_library() {
  const int saved = errno;
  const int before = g_phase.exchange(kClosed);
  g_min_flops.store(std::numeric_limits<double>::infinity(), std::memory_order_relaxed);
  offload::State* last = g_state.load(std::memory_order_acquire);
  if (before == kReady && last != nullptr) {
    last->report.print();
    offload::save_profiles(*last);
  }
  errno = saved;
}

}  // namespace

offload::State* state() noexcept {
  for (;;) {
    int phase = g_phase.load(std::memory_order_acquire);
    if (phase == kReady) {
      offload::State* ready = g_state.load(std::memory_order_acquire);
      return ready != nullptr && ready->config.mode != offload::Mode::off ? ready : nullptr;
    }
    if (phase == kClosed || t_making) return nullptr;
    handle_fork();
    if (phase == kNone && g_phase.compare_exchange_strong(phase, kMaking)) make_state();
    // another thread reads the environment: microseconds
    else if (phase == kMaking)
      ::sched_yield();
  }
}

}  // namespace ob::interpose
