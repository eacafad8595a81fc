#include "device/host_event.hpp"

#include <utility>

#include "device/stopwatch.hpp"

namespace ob {

void EventMark::set() {
  const std::lock_guard lock(mutex_);
  done_.store(true, std::memory_order_release);
  changed_.notify_all();
}

std::uint64_t EventMark::wait() {
  if (done()) return 0;
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done(); });
  return watch.elapsed_ns();
}

void HostEvent::record(std::shared_ptr<EventMark> mark) {
  const std::lock_guard lock(mutex_);
  last_ = std::move(mark);
}

std::shared_ptr<EventMark> HostEvent::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace ob
