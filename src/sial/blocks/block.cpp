#include "sial/blocks/block.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sial/operations/axes.hpp"

namespace ob::sial {
namespace {

// Vector instructions and devices want aligned elements, where they are many. Smaller blocks leave
// the alignment and the reuse of memory to the allocator, which spends fewer bytes on each.
constexpr std::uint64_t kLargeBytes = 4096;
constexpr std::align_val_t kElementAlignment{64};

double* new_elements(std::uint64_t bytes) noexcept {
  void* const memory = bytes < kLargeBytes ? ::operator new(bytes, std::nothrow)
                                           : ::operator new(bytes, kElementAlignment, std::nothrow);
  return static_cast<double*>(memory);
}

void delete_elements(double* elements, std::uint64_t bytes) noexcept {
  if (bytes < kLargeBytes) return ::operator delete(elements);
  ::operator delete(elements, kElementAlignment);
}

template <class Element>
BasicView<Element> view_at(const Shape& shape, Element* elements) noexcept {
  View view;
  view.rank = shape.rank;
  view.extents = shape.extents;
  for (unsigned d = 0; d < shape.rank; ++d) view.labels[d] = d;
  return dense_like(view, elements);
}

}  // namespace

View view_of(const Shape& shape, double* elements) noexcept { return view_at(shape, elements); }

View view_of(Block& block) noexcept { return view_at(block.shape(), block.data()); }

ConstView view_of(const Block& block) noexcept { return view_at(block.shape(), block.data()); }

struct BlockPool::State {
  std::mutex mutex;
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t idle_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::unordered_map<std::uint64_t, std::vector<double*>> idle;  // large ones, by size

  ~State() { delete_idle(); }

  // Takes idle memory of that size; nullptr if there is none. Call it with the mutex held.
  double* take_idle(std::uint64_t bytes) {
    const auto found = idle.find(bytes);
    if (found == idle.end() || found->second.empty()) return nullptr;
    double* const memory = found->second.back();
    found->second.pop_back();
    idle_bytes -= bytes;
    return memory;
  }

  void delete_idle() noexcept {
    for (const auto& [bytes, all] : idle) {
      for (double* const memory : all) delete_elements(memory, bytes);
    }
    idle.clear();
    idle_bytes = 0;
  }

  void release(double* memory, std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex);
      used_bytes -= bytes;
      // Idle memory beyond the highest use of blocks would never be used again.
      if (bytes >= kLargeBytes && used_bytes + idle_bytes + bytes <= peak_bytes) {
        idle_bytes += bytes;
        idle[bytes].push_back(memory);
        return;
      }
    }
    delete_elements(memory, bytes);
  }
};

// Frees a block. A block without elements has lost them to detach().
struct BlockPool::Release {
  std::shared_ptr<State> state;
  double* elements;
  std::uint64_t bytes;

  void operator()(Block* block) const {
    delete block;
    if (elements != nullptr) state->release(elements, bytes);
  }
};

BlockPool::BlockPool(std::uint64_t limit_bytes) : state_(std::make_shared<State>()) {
  state_->limit_bytes = limit_bytes;
}

Result<double*> BlockPool::take(std::uint64_t bytes) {
  double* memory = nullptr;
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
      state_->delete_idle();  // memory of other sizes would only lie beside the new block
    }
    state_->used_bytes += bytes;
    state_->peak_bytes = std::max(state_->peak_bytes, state_->used_bytes);
  }
  if (memory == nullptr) memory = new_elements(bytes);
  if (memory != nullptr) return memory;
  const std::lock_guard lock(state_->mutex);
  state_->used_bytes -= bytes;
  return Status(Code::out_of_memory,
                "the system has no memory for a block of " + std::to_string(bytes) + " bytes");
}

void BlockPool::free(double* elements, std::uint64_t bytes) noexcept {
  state_->release(elements, bytes);
}

BlockPtr BlockPool::attach(const Shape& shape, double* elements) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.elements()) * sizeof(double);
  return BlockPtr(new Block(shape, elements), Release{state_, elements, bytes});
}

double* BlockPool::detach(BlockPtr block) noexcept {
  if (block.use_count() > 1) return nullptr;
  // The last other holder may have read the block on another thread just now.
  std::atomic_thread_fence(std::memory_order_acquire);
  return std::exchange(std::get_deleter<Release>(block)->elements, nullptr);
}

Result<BlockPtr> BlockPool::allocate(const Shape& shape) {
  OB_ASSIGN_OR_RETURN(double* const elements,
                      take(static_cast<std::uint64_t>(shape.elements()) * sizeof(double)));
  return attach(shape, elements);
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
