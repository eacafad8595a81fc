#include "overlap/proxy.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/quiet_thread.hpp"
#include "base/thread_priority.hpp"
#include "overlap/clock.hpp"
#include "overlap/cores.hpp"

namespace ob::overlap {
namespace {

constexpr std::int64_t kForever = std::int64_t{3600} * 1'000'000'000;
// With a core of its own, or that of a thread that waits, the proxy polls for this time after
// something moved, and then takes short naps: a test costs nobody else anything.
constexpr std::int64_t kPoll = 50'000;
constexpr std::int64_t kShortNap = 20'000;
// On a core that computes, a nap with its test costs about 17 us. Shorter naps than 200 us lose
// more to the switches than they gain, and during longer ones than 2 ms the socket runs empty.
constexpr std::int64_t kLeastNap = 200'000;
constexpr std::int64_t kMostNap = 2'000'000;
// The proxy shall move messages soon after its nap, also where others compute on its core.
constexpr std::uint64_t kSlice = 100'000;
constexpr double kSocketBytes = 256 * 1024;  ///< what the kernel sends without a call of MPI

}  // namespace

Result<std::unique_ptr<Proxy>> Proxy::start(int number, int core, Trace* trace) {
  std::unique_ptr<Proxy> proxy(new Proxy(number, core, trace));
  proxy->thread_ = quiet_thread([p = proxy.get()] { p->work(); });
  if (!proxy->thread_.joinable())
    return Status(Code::unavailable, "no thread for the proxy (the system refuses)");
  return proxy;
}

Proxy::~Proxy() {
  stop_.store(true, std::memory_order_release);
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void Proxy::post(Run& run) noexcept {
  Run* head = inbox_.load(std::memory_order_relaxed);
  do {
    run.next_posted = head;
  } while (!inbox_.compare_exchange_weak(head, &run, std::memory_order_acq_rel));
  bell_.ring();
}

void Proxy::await(const Run& run, bool (Run::*reached)() const noexcept,
                  std::int64_t limit_ns) noexcept {
  const std::uint32_t seen = ended_.rings();
  if ((run.*reached)()) return;
  waiting_.store(true);
  bell_.ring();  // it may nap
  ended_.wait(seen, limit_ns);
  waiting_.store(false);
}

void Proxy::work() {
  ::prctl(PR_SET_NAME, "ob-overlap");
  ::prctl(PR_SET_TIMERSLACK, 1000);  // the kernel's 50 us would double the short naps
  set_thread_slice(kSlice);
  if (core_ >= 0) pin_to_core(core_);
  if (timeline_.trace() != nullptr)
    timeline_.trace()->name_thread(number_ == 0 ? "proxy" : "proxy " + std::to_string(number_ + 1));
  std::int64_t idle_since = now_ns();
  while (!stop_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = bell_.rings();
    const bool took = take_posted();
    if (drive_all() || took) {
      idle_since = now_ns();
      if (has_core()) continue;
    }
    rest(seen, idle_since);
  }
}

bool Proxy::take_posted() {
  Run* posted = inbox_.exchange(nullptr, std::memory_order_acq_rel);
  if (posted == nullptr) return false;
  // The inbox has the last one in front, and the first one is needed first.
  Run* first = nullptr;
  while (posted != nullptr) {
    Run* const run = std::exchange(posted, posted->next_posted);
    run->next_posted = std::exchange(first, run);
  }
  bool ended = false;
  while (first != nullptr) {
    Run* const run = std::exchange(first, first->next_posted);
    const Run::Progress progress = [&] {
      const ScopedSpan span(timeline_.trace(), "start", std::size_t(run->exchange()->bytes()));
      return run->begin();
    }();
    ended |= progress.done || progress.over;
    if (!progress.over) active_.push_back(run);
  }
  if (ended) ended_.ring();
  return true;
}

bool Proxy::drive_all() {
  if (active_.empty()) return false;
  const std::int64_t since = timeline_.now();
  bool moved = false;
  bool ended = false;
  const auto over = std::remove_if(active_.begin(), active_.end(), [&](Run* run) {
    const Run::Progress progress = run->drive();
    moved |= progress.moved;
    ended |= progress.done || progress.over;
    return progress.over;
  });
  active_.erase(over, active_.end());
  timeline_.tested(since, moved || ended);
  if (!ended) return moved;
  processor_ns_.store(thread_time_ns(), std::memory_order_relaxed);
  ended_.ring();
  return true;
}

void Proxy::rest(std::uint32_t seen, std::int64_t idle_since) {
  if (active_.empty()) return void(bell_.wait(seen, kForever));
  const std::int64_t since = timeline_.now();
  if (!has_core())
    bell_.wait(seen, nap_ns());
  else if (now_ns() - idle_since > kPoll)
    bell_.wait(seen, kShortNap);
  timeline_.napped(since);
}

std::int64_t Proxy::nap_ns() const noexcept {
  double nap = kMostNap;
  for (const Run* run : active_)
    nap = run->rate() > 0 ? std::min(nap, kSocketBytes / run->rate() * 1e9) : double(kLeastNap);
  return std::clamp(std::int64_t(nap), kLeastNap, kMostNap);
}

}  // namespace ob::overlap
