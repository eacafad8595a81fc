#include "stream.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "devices.hpp"
#include "settings.hpp"

namespace standin {
namespace {

std::atomic<std::uint64_t> g_streams{0};
std::atomic<std::uint64_t> g_ops{0};

}  // namespace

struct Stream::State {
  int device = 0;
  std::mt19937_64 random;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> waiting;
  std::uint64_t submitted = 0;
  std::uint64_t finished = 0;
  bool stop = false;

  void delay() {
    if (settings().delay_us == 0) return;
    std::uniform_int_distribution<unsigned> distribution(0, settings().delay_us);
    std::this_thread::sleep_for(std::chrono::microseconds(distribution(random)));
  }
};

Stream::Stream(int device, unsigned flags)
    : device_(device), flags_(flags), number_(++g_streams), state_(std::make_shared<State>()) {
  state_->device = device;
  state_->random.seed(settings().seed + number_);
  std::thread([state = state_] { run(state); }).detach();
}

Stream::~Stream() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
}

std::uint64_t Stream::submit(Work work) {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.push_back(std::move(work));
  state_->changed.notify_all();
  return ++state_->submitted;
}

bool Stream::done(std::uint64_t position) {
  const std::lock_guard lock(state_->mutex);
  return state_->finished >= position;
}

void Stream::wait(std::uint64_t position) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->finished >= position; });
}

std::uint64_t Stream::tail() {
  const std::lock_guard lock(state_->mutex);
  return state_->submitted;
}

void Stream::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->stop || !state->waiting.empty(); });
    if (state->waiting.empty()) return;
    Work work = std::move(state->waiting.front());
    state->waiting.pop_front();
    lock.unlock();
    state->delay();
    Devices& devices = Devices::instance();
    if (settings().sticky != 0 && ++g_ops == settings().sticky)
      devices.poison(state->device, cudaErrorIllegalAddress);
    // After a fault a device does no more work. Waiting threads still return.
    if (devices.sticky(state->device) == cudaSuccess) {
      const cudaError_t error = work();
      if (error != cudaSuccess) devices.poison(state->device, error);
    }
    work = nullptr;  // releases what the work owns before others learn that it is done
    lock.lock();
    ++state->finished;
    state->changed.notify_all();
  }
}

}  // namespace standin
