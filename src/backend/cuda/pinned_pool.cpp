#include "backend/cuda/pinned_pool.hpp"

#include <bit>
#include <iterator>
#include <string>

namespace ob::cuda {

PinnedBlock::~PinnedBlock() {
  if (pool_ != nullptr) pool_->give_back(data_, size_bytes_);
}

PinnedPool::~PinnedPool() {
  for (const auto& [size_bytes, blocks] : idle_) {
    for (std::byte* block : blocks) (void)runtime_.cudaFreeHost(block);
  }
}

Result<PinnedBlock> PinnedPool::take(std::uint64_t size_bytes) {
  if (size_bytes > kMostBytes) {
    return Status(Code::out_of_memory, "page-locked memory of " + std::to_string(size_bytes) +
                                           " bytes is more than any machine's");
  }
  const std::uint64_t bytes = std::bit_ceil(std::max(size_bytes, kLeastBytes));
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& blocks = idle_[bytes];
    if (!blocks.empty()) {
      std::byte* const data = blocks.back();
      blocks.pop_back();
      idle_bytes_ -= bytes;
      return PinnedBlock(this, data, bytes);
    }
  }
  void* data = nullptr;
  OB_RETURN_IF_ERROR(
      runtime_.check(runtime_.cudaHostAlloc(&data, bytes, cudaHostAllocPortable),
                     ("locking " + std::to_string(bytes) + " bytes of host memory").c_str()));
  const std::lock_guard lock(mutex_);
  all_.emplace(static_cast<std::byte*>(data), bytes);
  return PinnedBlock(this, static_cast<std::byte*>(data), bytes);
}

bool PinnedPool::contains(const std::byte* data, std::uint64_t size_bytes) const {
  const std::lock_guard lock(mutex_);
  const auto after = all_.upper_bound(const_cast<std::byte*>(data));
  if (after == all_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  const auto offset = static_cast<std::uint64_t>(data - begin);
  return offset < bytes && size_bytes <= bytes - offset;
}

void PinnedPool::give_back(std::byte* data, std::uint64_t size_bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (size_bytes <= idle_limit_ - idle_bytes_) {
      idle_[size_bytes].push_back(data);
      idle_bytes_ += size_bytes;
      return;
    }
    all_.erase(data);
  }
  (void)runtime_.cudaFreeHost(data);
}

}  // namespace ob::cuda
