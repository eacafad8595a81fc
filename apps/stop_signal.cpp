#include "stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "log.hpp"

namespace ob::apps {
namespace {

sigset_t stop_signals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  return stop;
}

}  // namespace

struct StopSignal::State {
  std::mutex mutex;  // guards all below
  std::condition_variable came;
  bool serving = false;
  double bound_s = 0;
  int signal_number = 0;
};

StopSignal::StopSignal() : state_(std::make_shared<State>()) {
  const sigset_t stop = stop_signals();
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  std::thread([state = state_] { watch(state); }).detach();
}

void StopSignal::serving(double bound_s) {
  const std::lock_guard lock(state_->mutex);
  state_->serving = true;
  state_->bound_s = bound_s;
}

int StopSignal::wait() {
  std::unique_lock lock(state_->mutex);
  state_->came.wait(lock, [this] { return state_->signal_number != 0; });
  return state_->signal_number;
}

void StopSignal::watch(const std::shared_ptr<State>& state) {
  const sigset_t stop = stop_signals();
  int signal_number = 0;
  sigwait(&stop, &signal_number);
  double bound_s = 0;
  {
    const std::lock_guard lock(state->mutex);
    if (!state->serving) {
      log::info("stopped before it served anybody (signal " + std::to_string(signal_number) + ")");
      _exit(0);
    }
    state->signal_number = signal_number;
    bound_s = state->bound_s;
    state->came.notify_one();
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(bound_s));
  char line[96];
  std::snprintf(line, sizeof line,
                "aborted: %g s after the signal devices or their libraries are still at work",
                bound_s);
  log::error(line);
  _exit(kAborted);
}

}  // namespace ob::apps
