#include "device/gate.hpp"

#include <utility>

namespace ob {

void Gate::open(Status outcome) {
  std::vector<std::function<void(const Status&)>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (open_) return;
    open_ = true;
    outcome_ = std::move(outcome);
    waiting = std::exchange(waiting_, {});
    changed_.notify_all();
  }
  for (const auto& opened : waiting) opened(outcome_);  // which does not change any more
}

bool Gate::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

bool Gate::wait_for(std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [this] { return open_; });
}

Status Gate::outcome() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

void Gate::when_open(std::function<void(const Status&)> opened) const {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) {
      waiting_.push_back(std::move(opened));
      return;
    }
  }
  opened(outcome_);
}

}  // namespace ob
