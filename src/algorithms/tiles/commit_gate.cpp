#include "algorithms/tiles/commit_gate.hpp"

namespace ob::algorithms {

Status CommitGate::ready(std::function<void()> commit) {
  {
    std::unique_lock lock(mutex_);
    if (missing_ > 0) --missing_;
    if (missing_ == 0) changed_.notify_all();
    changed_.wait(lock, [this] { return aborted_ || missing_ == 0; });
    if (aborted_) return {Code::declined, "another part of the call failed"};
  }
  commit();  // all parts commit at the same time: they do not overlap
  return {};
}

void CommitGate::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

}  // namespace ob::algorithms
