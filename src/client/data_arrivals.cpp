#include "client/data_arrivals.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ob::client {

std::shared_ptr<Gate> DataArrivals::gate(std::uint64_t sequence) {
  if (complete(sequence)) return nullptr;
  auto made = std::make_shared<Gate>();
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) {
    made->open(failure_);
    return made;
  }
  waiting_.push_back({sequence, made});
  awaited_ = true;
  if (!complete(sequence)) return made;
  waiting_.pop_back();
  awaited_ = !waiting_.empty();
  return nullptr;
}

void DataArrivals::note_oldest(std::uint64_t sequence) {
  if (oldest_.load(std::memory_order_relaxed) == sequence) return;
  oldest_ = sequence;
  if (!awaited_) return;
  std::vector<Waiting> arrived;
  {
    const std::lock_guard lock(mutex_);
    const auto first = std::partition(waiting_.begin(), waiting_.end(),
                                      [&](const Waiting& one) { return !complete(one.sequence); });
    arrived.assign(std::move_iterator(first), std::move_iterator(waiting_.end()));
    waiting_.erase(first, waiting_.end());
    awaited_ = !waiting_.empty();
  }
  for (const Waiting& one : arrived) one.gate->open();
}

void DataArrivals::fail(const Status& failure) {
  std::vector<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    waiting.swap(waiting_);
    awaited_ = false;
  }
  for (const Waiting& one : waiting) one.gate->open(failure);
}

}  // namespace ob::client
