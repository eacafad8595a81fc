#pragma once
// The memory of a device in host memory: buffers by id, counted against a cap.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/handle_table.hpp"
#include "device/host_buffer.hpp"
#include "device/host_buffer_pool.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// Gives out buffers up to a cap. A freed buffer lives, and counts, until the commands that hold it
/// are done; then it may wait in a pool for the next allocation. Idle and used buffers together
/// stay below the cap. Threads: any
class HostMemory final : public MemoryTable {
 public:
  /// What a buffer counts is its size rounded up to this.
  static constexpr std::uint64_t kUnitBytes = 4096;

  explicit HostMemory(std::uint64_t capacity_bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::uint64_t capacity_bytes() const noexcept;
  /// Of live buffers, and of freed ones still in use.
  std::uint64_t used_bytes() const;

  /// How often allocations found memory that was touched before.
  HostBufferPool::Use pool_use() const;

  /// If memory lacks only because freed buffers are still in use by submitted commands, waits for
  /// those.
  /// Errors: out_of_memory
  Result<BufferId> allocate(std::uint64_t size_bytes);
  /// Errors: invalid_argument if unknown
  Status free(BufferId id);
  /// From now on every so-many-th allocation fails, for tests; 0: none. Threads: before others
  void fail_allocations(unsigned every) noexcept { fail_every_ = every; }
  HeldMemory held(BufferId id) const override;
  /// nullptr if unknown.
  std::shared_ptr<HostBuffer> find(BufferId id) const { return buffers_.find(id); }

 private:
  void mark_freed(const HostBuffer& buffer);

  struct Account;  // outlives this object if a command still holds a buffer
  std::shared_ptr<Account> account_;
  unsigned fail_every_ = 0;
  std::atomic<unsigned> asked_{0};
  HandleTable<BufferId, HostBuffer> buffers_;
};

/// The default cap of one of `devices` devices that share this machine's memory: three quarters in
/// equal parts.
std::uint64_t share_of_host_memory(unsigned devices);

}  // namespace ob
