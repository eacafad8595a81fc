#pragma once
// The memory of a device in host memory: its buffers by id, and a cap on their total size.

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/account.hpp"
#include "device/buffer_table.hpp"
#include "device/host_buffer.hpp"
#include "device/host_segment_pool.hpp"
#include "device/memory_table.hpp"
#include "device/segment_budget.hpp"

namespace ob {

/// Allocates buffers up to a cap. A freed buffer lives, and counts, until the commands that hold it
/// are done; it may then stay in a pool for the next allocation. Idle and used buffers together
/// stay below the cap.   Threads: any
class HostMemory final : public MemoryTable {
 public:
  /// Sizes count rounded up to a multiple of this.
  static constexpr std::uint64_t kUnitBytes = kMemoryUnitBytes;

  /// @param most_segments memory files in use, for all owners together
  explicit HostMemory(std::uint64_t capacity_bytes,
                      std::uint64_t most_segments = SegmentBudget::share_of_process(1));
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::uint64_t capacity_bytes() const noexcept;
  /// Returns the bytes of live buffers, and of freed ones still in use.
  std::uint64_t used_bytes() const;

  /// Returns the counts of the pool.
  HostSegmentPool::Use pool_use() const;

  /// Returns the memory files in use; idle ones in the pool do not count.
  std::uint64_t used_segments() const;

  /// Allocates a zero buffer. Small ones share memory files, but only with buffers of the same
  /// owner. Waits for submitted commands if the buffers that they still use, though freed, leave
  /// too little memory, but no longer than kLongestReleaseWait.
  /// Errors: out_of_memory, also if the owner holds its share of memory files (SegmentBudget)
  Result<BufferId> allocate(std::uint64_t size_bytes, const ob::Account& owner = {});
  /// Does the waiting of allocate(), but no longer than `longest`. Returns false if commands still
  /// use the memory then.
  bool await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest);
  /// Errors: invalid_argument if unknown
  Status free(BufferId id);
  /// Changes the number of memory files for all owners together.   Threads: before others
  void limit_segments(std::uint64_t most);
  /// Notes that another process gets the buffer's memory file.
  /// Errors: unsupported if it must not have it
  Status export_segment(const HostBuffer& buffer);
  /// Makes every n-th allocation fail, for tests; 0: none.   Threads: before others
  void fail_allocations(unsigned every) noexcept { buffers_.fail_allocations(every); }
  HeldMemory held(BufferId id) const override { return buffers_.held(id); }
  /// Finds a buffer; nullptr if unknown.
  std::shared_ptr<HostBuffer> find(BufferId id) const { return buffers_.find(id); }

 private:
  struct Account;  // outlives this object if a command still holds a buffer
  std::shared_ptr<Account> account_;
  BufferTable<HostBuffer> buffers_;
};

/// Returns the default cap of one of `devices` devices that share this machine's memory: three
/// quarters of it, in equal parts.
std::uint64_t share_of_host_memory(unsigned devices);

}  // namespace ob
