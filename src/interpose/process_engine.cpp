#include "interpose/process_engine.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <limits>

#include "interpose/gate.hpp"
#include "interpose/settings.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

namespace {

enum Phase : int { kNone, kMaking, kReady, kClosed };
constinit std::atomic<int> g_phase{kNone};
constinit std::atomic<offload::Engine*> g_engine{nullptr};
constinit pthread_once_t g_fork_handled = PTHREAD_ONCE_INIT;
constinit thread_local bool t_making = false;
constinit thread_local std::optional<Accuracy> t_accuracy;

// A child shares with its parent only memory that nobody else touches. It drops the inherited
// engine and makes a new one.
void start_anew_in_child() noexcept {
  offload::Engine::close_inherited(g_engine.load(std::memory_order_relaxed));
  // The parent's engine is leaked here, locks and all.
  g_engine.store(nullptr, std::memory_order_relaxed);
  if (g_phase.load(std::memory_order_relaxed) != kClosed) {
    g_phase.store(kNone, std::memory_order_relaxed);
    g_min_flops.store(0, std::memory_order_relaxed);
  }
}

// This is called before any thread makes the engine. Otherwise a child that is forked while a
// thread of its parent makes the engine would wait for that thread.
// Every caller waits until the handler is registered, not only the one that registers it.
void handle_fork() noexcept {
  (void)pthread_once(&g_fork_handled,
                     [] { (void)pthread_atfork(nullptr, nullptr, start_anew_in_child); });
}

// Handlers of a library that was initialized before, such as OpenSSL, run after this one.
void stop_connecting() noexcept {
  offload::Engine* const engine = g_engine.load(std::memory_order_acquire);
  if (engine != nullptr) engine->stop_connecting();
}

// True if something may run in the background, or must be given back.
bool has_work_at_exit(const offload::Config& config) noexcept {
  const bool connects = config.mode == offload::Mode::automatic && config.names_servers();
  return connects || (config.mode == offload::Mode::remote && config.takes_lease());
}

void make_engine() noexcept {
  t_making = true;
  offload::Engine* made = nullptr;
  try {
    made = new offload::Engine(read_settings());
  } catch (...) {  // no memory: the program continues as if this library were not there
  }
  t_making = false;
  if (made != nullptr && has_work_at_exit(made->config())) (void)std::atexit(stop_connecting);
  const double gate =
      made != nullptr ? made->least_flop() : std::numeric_limits<double>::infinity();
  g_engine.store(made, std::memory_order_release);
  g_min_flops.store(gate, std::memory_order_relaxed);
  int making = kMaking;
  g_phase.compare_exchange_strong(making, kReady, std::memory_order_release);
}

// Late destructors and other libraries may still make calls. They find the library closed, so their
// calls run locally.
__attribute__((destructor)) void close_library() {
  const int saved = errno;
  const int before = g_phase.exchange(kClosed);
  g_min_flops.store(std::numeric_limits<double>::infinity(), std::memory_order_relaxed);
  offload::Engine* const last = g_engine.load(std::memory_order_acquire);
  if (before == kReady && last != nullptr) last->close();
  errno = saved;
}

}  // namespace

offload::Engine* process_engine() noexcept {
  for (;;) {
    int phase = g_phase.load(std::memory_order_acquire);
    if (phase == kReady) {
      offload::Engine* const ready = g_engine.load(std::memory_order_acquire);
      return ready != nullptr && ready->config().mode != offload::Mode::off ? ready : nullptr;
    }
    if (phase == kClosed || t_making) return nullptr;
    handle_fork();
    if (phase == kNone && g_phase.compare_exchange_strong(phase, kMaking)) make_engine();
    // another thread reads the environment, which takes microseconds
    else if (phase == kMaking)
      ::sched_yield();
  }
}

std::optional<Accuracy> thread_accuracy() noexcept { return t_accuracy; }

void set_thread_accuracy(std::optional<Accuracy> accuracy) noexcept { t_accuracy = accuracy; }

}  // namespace ob::interpose
