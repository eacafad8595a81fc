#include "overlap/programs/driver.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/quiet_thread.hpp"
#include "base/thread_priority.hpp"
#include "overlap/clock.hpp"

namespace ob::overlap {
namespace {

constexpr std::int64_t kForever = std::int64_t{3600} * 1'000'000'000;
// On a core of its own a look costs the program nothing. The nap leaves MPI's lock to the program.
constexpr std::int64_t kShortNap = 10'000;
// On a shared core each nap costs the program about 17 us of switches, and during a longer one the
// sockets run empty (docs/decisions/0068-overlap-unmodified-programs.md).
constexpr std::int64_t kLongNap = 1'000'000;
// Long messages need some looks at their start, when both sides agree on them. Those of a fast link
// are over after 1 ms or two.
constexpr std::int64_t kFirstNap = 200'000;
constexpr std::int64_t kMuch = 1024 * 1024;  // bytes
// The thread shall look soon after its nap, also where the program computes on its core.
constexpr std::uint64_t kSlice = 100'000;
// A look at requests takes far less, also on a busy machine.
constexpr std::int64_t kLastLook = 1'000'000'000;

void nap(std::int64_t ns) {
  const timespec time{0, long(ns)};
  ::nanosleep(&time, nullptr);
}

}  // namespace

bool Driver::start(bool own_core) {
  own_core_ = own_core;
  process_ = ::getpid();
  thread_ = quiet_thread([this] { run(); });
  return thread_.joinable();
}

bool Driver::has_thread() const noexcept { return thread_.joinable() && process_ == ::getpid(); }

void Driver::stop() noexcept {
  if (!has_thread()) return;
  stop_.store(true, std::memory_order_release);
  bell_.ring();
  thread_.join();
}

void Driver::stop_at_exit() noexcept {
  if (!has_thread()) return;
  stop_.store(true, std::memory_order_release);
  bell_.ring();
  const std::int64_t limit = now_ns() + kLastLook;
  while (!ended_.load(std::memory_order_acquire) && now_ns() < limit) nap(kLongNap);
  if (ended_.load(std::memory_order_acquire)) thread_.join();
}

// Returns the time of a nap. While much is under way, it is an eighth of the time for which that
// has been so, within bounds. So naps take a small part of the time of the messages, and the look
// after one is late by a small part.
std::int64_t Driver::nap_ns() noexcept {
  if (own_core_) return kShortNap;
  const std::int64_t now = now_ns();
  if (operations_.moving_bytes() >= kMuch)
    return std::clamp((now - little_until_ns_) / 8, kFirstNap, kLongNap);
  little_until_ns_ = now;
  return kLongNap;
}

void Driver::run() {
  ::prctl(PR_SET_NAME, "ob-overlap");
  ::prctl(PR_SET_TIMERSLACK, 1000);  // the kernel's 50 us would multiply the short naps
  set_thread_slice(kSlice);
  while (!stop_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = bell_.rings();
    if (operations_.moving() == 0 || !enabled_.load(std::memory_order_relaxed)) {
      processor_ns_.store(thread_time_ns(), std::memory_order_relaxed);
      bell_.wait(seen, kForever);
      if (own_core_) continue;
    } else if (inside_.load(std::memory_order_relaxed) == 0) {
      operations_.drive();
    }
    nap(nap_ns());
  }
  processor_ns_.store(thread_time_ns(), std::memory_order_relaxed);
  ended_.store(true, std::memory_order_release);
}

}  // namespace ob::overlap
