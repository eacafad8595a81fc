#include "sial/blocks/block.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_memory.hpp"
#include "sial/operations/axes.hpp"

namespace ob::sial {

using Memory = std::shared_ptr<std::byte>;

namespace {

View shape_view(const Block& block) noexcept {
  View shape;
  shape.rank = block.shape().rank;
  shape.extents = block.shape().extents;
  for (unsigned d = 0; d < shape.rank; ++d) shape.labels[d] = d;
  return shape;
}

}  // namespace

View view_of(Block& block) noexcept { return dense_like(shape_view(block), block.data()); }

ConstView view_of(const Block& block) noexcept {
  return dense_like(shape_view(block), block.data());
}

struct BlockPool::State {
  std::mutex mutex;
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::unordered_map<std::uint64_t, std::vector<Memory>> idle;  // by size

  // Takes idle memory of that size; empty if there is none. Call it with the mutex held.
  Memory take_idle(std::uint64_t bytes) {
    const auto found = idle.find(bytes);
    if (found == idle.end() || found->second.empty()) return nullptr;
    Memory memory = std::move(found->second.back());
    found->second.pop_back();
    idle_bytes -= bytes;
    return memory;
  }

  void release(Memory memory, std::uint64_t bytes) {
    const std::lock_guard lock(mutex);
    used_bytes -= bytes;
    // Idle memory beyond the highest use of blocks would never be used again.
    if (used_bytes + idle_bytes + bytes > peak_bytes) return;
    idle_bytes += bytes;
    idle[bytes].push_back(std::move(memory));
  }
};

BlockPool::BlockPool(std::uint64_t limit_bytes) : state_(std::make_shared<State>()) {
  state_->limit_bytes = limit_bytes;
}

Result<BlockPtr> BlockPool::allocate(const Shape& shape) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.elements()) * sizeof(double);
  Memory memory;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->limit_bytes != 0 && state_->used_bytes + bytes > state_->limit_bytes) {
      return Status(Code::out_of_memory,
                    "a block of " + std::to_string(bytes) + " bytes does not fit (" +
                        std::to_string(state_->used_bytes) + " of " +
                        std::to_string(state_->limit_bytes) + " bytes are in use)");
    }
    memory = state_->take_idle(bytes);
    if (memory == nullptr && state_->used_bytes + state_->idle_bytes + bytes > state_->peak_bytes) {
      state_->idle.clear();  // memory of other sizes would only lie beside the new block
      state_->idle_bytes = 0;
    }
    state_->used_bytes += bytes;
    state_->peak_bytes = std::max(state_->peak_bytes, state_->used_bytes);
  }
  if (memory == nullptr) {
    auto allocated = aligned_memory(std::max<std::uint64_t>(bytes, 64));
    if (!allocated.ok()) {
      const std::lock_guard lock(state_->mutex);
      state_->used_bytes -= bytes;
      return allocated.status();
    }
    memory = std::move(*allocated);
  }
  auto* data = reinterpret_cast<double*>(memory.get());
  return BlockPtr(new Block(shape, data),
                  [state = state_, memory = std::move(memory), bytes](Block* block) mutable {
                    delete block;
                    state->release(std::move(memory), bytes);
                  });
}

Result<BlockPtr> BlockPool::copy(const Block& block) {
  OB_ASSIGN_OR_RETURN(BlockPtr made, allocate(block.shape()));
  std::memcpy(made->memory(), block.data(), block.bytes());
  return made;
}

Status BlockPool::make_writable(BlockPtr& block) {
  if (block.use_count() == 1) {
    // The last other holder may have read the block on another thread just now.
    std::atomic_thread_fence(std::memory_order_acquire);
    return {};
  }
  OB_ASSIGN_OR_RETURN(block, copy(*block));
  return {};
}

std::uint64_t BlockPool::used_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used_bytes;
}

std::uint64_t BlockPool::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak_bytes;
}

}  // namespace ob::sial
