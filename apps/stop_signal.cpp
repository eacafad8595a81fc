#include "stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "log.hpp"

namespace ob::apps {
namespace {

sigset_t awaited_signals(bool takes_hangup) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGINT);
  if (takes_hangup) sigaddset(&awaited, SIGHUP);
  return awaited;
}

}  // namespace

struct StopSignal::State {
  explicit State(bool takes_hangup) : awaited(awaited_signals(takes_hangup)) {}

  const sigset_t awaited;
  std::mutex mutex;  // guards all below
  std::condition_variable came;
  bool serving = false;
  double bound_s = 0;
  int abort_status = kAborted;
  int signal_number = 0;
  bool hung_up = false;
};

StopSignal::StopSignal(bool takes_hangup) : state_(std::make_shared<State>(takes_hangup)) {
  pthread_sigmask(SIG_BLOCK, &state_->awaited, nullptr);
  std::thread([state = state_] { watch(state); }).detach();
}

void StopSignal::serving(double bound_s) {
  const std::lock_guard lock(state_->mutex);
  state_->serving = true;
  state_->bound_s = bound_s;
}

void StopSignal::abort_with(int status) {
  const std::lock_guard lock(state_->mutex);
  state_->abort_status = status;
}

int StopSignal::wait() {
  std::unique_lock lock(state_->mutex);
  state_->came.wait(lock, [this] { return state_->signal_number != 0 || state_->hung_up; });
  const bool hung_up = std::exchange(state_->hung_up, false);
  return state_->signal_number != 0 || !hung_up ? state_->signal_number : SIGHUP;
}

void StopSignal::watch(const std::shared_ptr<State>& state) {
  int signal_number = 0;
  while (sigwait(&state->awaited, &signal_number), signal_number == SIGHUP) {
    const std::lock_guard lock(state->mutex);
    state->hung_up = true;
    state->came.notify_one();
  }
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
  const std::lock_guard lock(state->mutex);
  _exit(state->abort_status);
}

}  // namespace ob::apps
