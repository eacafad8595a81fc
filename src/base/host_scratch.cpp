#include "base/host_scratch.hpp"

#include <atomic>
#include <cstdlib>
#include <utility>

namespace ob {
namespace {

// The pool keeps a few blocks, none above the limit: larger calls run long enough to pay for the
// first touch.
constexpr int kKept = 4;
constexpr std::uint64_t kKeptBytes = 256ULL << 20;

struct Block {
  std::byte* data = nullptr;
  std::uint64_t capacity_bytes = 0;
};

// Trivially destructible, so that calls from late destructors still find it.
constinit std::atomic_flag g_busy = ATOMIC_FLAG_INIT;
constinit Block g_kept[kKept]{};

// Tries to lock. A thread that finds the pool busy (or inherited locked after fork) does not use
// it.
bool enter() noexcept { return !g_busy.test_and_set(std::memory_order_acquire); }
void leave() noexcept { g_busy.clear(std::memory_order_release); }

}  // namespace

HostScratch::HostScratch(std::uint64_t size_bytes) noexcept {
  if (size_bytes == 0) size_bytes = 1;
  if (enter()) {
    for (Block& block : g_kept) {
      const bool suits = block.data != nullptr && block.capacity_bytes >= size_bytes &&
                         block.capacity_bytes / 4 <= size_bytes;
      if (!suits) continue;
      data_ = std::exchange(block.data, nullptr);
      capacity_bytes_ = block.capacity_bytes;
      break;
    }
    leave();
  }
  if (data_ != nullptr) return;
  data_ = static_cast<std::byte*>(std::malloc(size_bytes));
  capacity_bytes_ = size_bytes;
}

HostScratch::HostScratch(HostScratch&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_bytes_(other.capacity_bytes_) {}

HostScratch::~HostScratch() {
  if (data_ == nullptr) return;
  std::byte* unwanted = data_;
  if (capacity_bytes_ <= kKeptBytes && enter()) {
    Block* smallest = &g_kept[0];
    for (Block& block : g_kept) {
      if (block.data == nullptr || block.capacity_bytes < smallest->capacity_bytes)
        smallest = &block;
      if (block.data == nullptr) break;
    }
    if (smallest->data == nullptr || smallest->capacity_bytes < capacity_bytes_) {
      unwanted = std::exchange(smallest->data, data_);
      smallest->capacity_bytes = capacity_bytes_;
    }
    leave();
  }
  std::free(unwanted);
}

}  // namespace ob
