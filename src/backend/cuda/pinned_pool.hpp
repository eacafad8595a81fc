#pragma once
// Page-locked host memory, which devices can access.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/cuda/runtime.hpp"
#include "base/status.hpp"

namespace ob::cuda {

class PinnedPool;

/// A block of host memory, which returns to its pool.
/// Memory: aligned to at least 256 bytes; it has the contents of its last use (see PinnedPool)
class PinnedBlock {
 public:
  PinnedBlock() noexcept = default;
  PinnedBlock(PinnedBlock&& other) noexcept { *this = std::move(other); }
  PinnedBlock& operator=(PinnedBlock&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  /// Returns the block, which the device must not use any more.
  ~PinnedBlock();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  template <class T>
  T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  friend PinnedPool;
  PinnedBlock(PinnedPool* pool, std::byte* data, std::uint64_t size_bytes) noexcept
      : pool_(pool), data_(data), size_bytes_(size_bytes) {}
  PinnedPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

/// A pool of blocks in classes of size (powers of two from 4 KiB). It exists because locking pages
/// takes longer than copying them. No other process sees a block, so that blocks are not cleaned.
/// Memory: outlives its blocks   Threads: any
class PinnedPool {
 public:
  static constexpr std::uint64_t kLeastBytes = 4096;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

  /// @param idle_bytes limit of idle memory
  PinnedPool(const Runtime& runtime, std::uint64_t idle_bytes)
      : runtime_(runtime), idle_limit_(idle_bytes) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// Takes a block of at least size_bytes.   Errors: out_of_memory
  Result<PinnedBlock> take(std::uint64_t size_bytes);
  /// True if all of the memory lies in one of the pool's blocks.
  bool contains(const std::byte* data, std::uint64_t size_bytes) const;

 private:
  friend PinnedBlock;
  void give_back(std::byte* data, std::uint64_t size_bytes) noexcept;

  const Runtime& runtime_;
  const std::uint64_t idle_limit_;
  mutable std::mutex mutex_;
  std::map<std::byte*, std::uint64_t> all_;                // sizes by address
  std::map<std::uint64_t, std::vector<std::byte*>> idle_;  // by size
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace ob::cuda
