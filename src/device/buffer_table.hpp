#pragma once
// The buffers of a device's memory by id.

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/counted_memory.hpp"
#include "device/handle_table.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// Finds and frees buffers. A freed buffer lives, and counts, until its last holder releases it.
/// Buffer has data() and size_bytes().
/// Threads: any
template <class Buffer>
class BufferTable {
 public:
  /// Makes every n-th allocation fail, for tests; 0: none.   Threads: before others
  void fail_allocations(unsigned every) noexcept { fail_every_ = every; }
  /// Counts an allocation.   Errors: out_of_memory if it is to fail
  Status may_allocate() {
    if (fail_every_ == 0 || ++asked_ % fail_every_ != 0) return {};
    return {Code::out_of_memory, "this allocation was made to fail (--fail-allocations)"};
  }

  BufferId add(std::shared_ptr<Buffer> buffer) { return buffers_.add(std::move(buffer)); }
  /// Finds a buffer; nullptr if unknown.
  std::shared_ptr<Buffer> find(BufferId id) const { return buffers_.find(id); }
  /// Finds the memory of a buffer; empty if unknown.
  HeldMemory held(BufferId id) const {
    std::shared_ptr<Buffer> buffer = find(id);
    if (buffer == nullptr) return {};
    std::byte* const data = buffer->data();
    const std::uint64_t size_bytes = buffer->size_bytes();
    return {std::move(buffer), data, size_bytes};
  }

  /// Frees a buffer, and notes that in `memory`.   Errors: invalid_argument if unknown
  Status free(BufferId id, CountedMemory& memory) {
    const std::shared_ptr<Buffer> buffer = buffers_.take(id);
    if (buffer == nullptr) {
      return {Code::invalid_argument,
              "cannot free buffer " + std::to_string(id.value) + " (no such buffer; freed twice?)"};
    }
    memory.mark_freed(counted_bytes(buffer->size_bytes()));
    return {};
  }
  void free_all(CountedMemory& memory) {
    for (const auto& buffer : buffers_.take_all()) {
      memory.mark_freed(counted_bytes(buffer->size_bytes()));
    }
  }

 private:
  HandleTable<BufferId, Buffer> buffers_;
  unsigned fail_every_ = 0;
  std::atomic<unsigned> asked_{0};
};

}  // namespace ob
