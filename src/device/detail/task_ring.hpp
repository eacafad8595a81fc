#pragma once
// The waiting commands of a host queue.

#include <cstddef>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "device/inline_task.hpp"

namespace ob::detail {

/// A first-in, first-out ring. It keeps its memory, so that a queue in steady state does not call
/// malloc.   Threads: one at a time; the owner locks
class TaskRing {
 public:
  struct Entry {
    bool always = false;
    bool counted = true;
    InlineTask task;
  };

  bool empty() const noexcept { return count_ == 0; }

  void push(Entry entry) {
    if (count_ == entries_.size()) grow();
    entries_[(first_ + count_) % entries_.size()] = std::move(entry);
    ++count_;
  }

  /// Removes the oldest entry.
  /// @pre !empty()
  Entry pop() {
    OB_EXPECT(!empty());
    Entry entry = std::move(entries_[first_]);
    first_ = (first_ + 1) % entries_.size();
    --count_;
    return entry;
  }

 private:
  void grow() {
    std::vector<Entry> larger(entries_.empty() ? 8 : 2 * entries_.size());
    for (std::size_t i = 0; i < count_; ++i) {
      larger[i] = std::move(entries_[(first_ + i) % entries_.size()]);
    }
    entries_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Entry> entries_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace ob::detail
