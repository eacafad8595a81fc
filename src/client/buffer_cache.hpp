#pragma once
// Keeps freed device buffers for the next call, so that the data path needs no allocation command
// and no first touch of fresh memory.

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "base/ids.hpp"

namespace ob::client {

/// Threads: owner only.   Source: buffers with size classes and eviction, SIA 5.3.3
class BufferCache {
 public:
  struct Entry {
    BufferId buffer;
    std::uint64_t size_bytes;
  };

  /// Units: bytes. Larger totals evict the least recently freed buffers, in put() and trim().
  void set_capacity(std::uint64_t capacity_bytes) noexcept { capacity_bytes_ = capacity_bytes; }

  /// Returns the size to allocate for a request: at most 25 % more, so that near sizes share
  /// buffers.
  static std::uint64_t size_class(std::uint64_t size_bytes) noexcept;

  /// Returns the smallest cached buffer of this class or of one that is at most twice as large. So
  /// a program with many sizes seldom touches new memory.
  std::optional<BufferId> take(std::uint64_t class_bytes) noexcept;
  /// Caches the buffer; returns the buffers that are evicted for it (maybe the buffer itself).
  std::vector<BufferId> put(BufferId buffer, std::uint64_t class_bytes);
  bool empty() const noexcept { return entries_.empty(); }
  /// Takes out the buffers beyond the capacity.
  std::vector<BufferId> trim();
  /// Empties the cache.
  std::vector<BufferId> take_all();

 private:
  std::list<Entry> entries_;  // front: most recently freed
  std::uint64_t total_bytes_ = 0;
  std::uint64_t capacity_bytes_ = 0;
};

}  // namespace ob::client
