#pragma once
// The memory of an accelerator: its buffers by id, and a cap on their total size.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/buffer_table.hpp"
#include "device/counted_memory.hpp"
#include "device/device.hpp"
#include "device/memory_source.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// A piece of device memory. Its last holder returns it.
class DeviceBuffer {
 public:
  std::byte* data() const noexcept { return data_; }
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  friend class DeviceMemory;
  DeviceBuffer(std::byte* data, std::uint64_t size_bytes) noexcept
      : data_(data), size_bytes_(size_bytes) {}
  std::byte* const data_;
  const std::uint64_t size_bytes_;
};

/// Allocates buffers up to a cap, as HostMemory does. A freed buffer lives, and counts, until the
/// commands that hold it are done. It may then stay idle for the next allocation of its size,
/// because some drivers stop the whole device to release memory. Buffers are zeroed before reuse,
/// since their contents may belong to another session.   Threads: any
class DeviceMemory final : public MemoryTable {
 public:
  /// Sizes are rounded up to a multiple of this.
  static constexpr std::uint64_t kUnitBytes = kMemoryUnitBytes;

  DeviceMemory(std::unique_ptr<MemorySource> source, std::uint64_t capacity_bytes)
      : source_(std::move(source)), bytes_(capacity_bytes) {}
  /// Waits until the device is idle.
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  MemoryUse use() const;

  /// Allocates a buffer. Waits for submitted commands if the buffers that they still use, though
  /// freed, leave too little memory, but no longer than kLongestReleaseWait.
  /// Errors: out_of_memory; device_error
  Result<BufferId> allocate(std::uint64_t size_bytes);
  /// Does the waiting of allocate(), but no longer than `longest`. Returns false if commands still
  /// use the memory then.
  bool await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest);
  /// Errors: invalid_argument if unknown
  Status free(BufferId id) { return buffers_.free(id, bytes_); }
  HeldMemory held(BufferId id) const override { return buffers_.held(id); }

  /// Allocates uncleared memory for the backend itself; never waits.   Errors: out_of_memory
  Result<std::shared_ptr<DeviceBuffer>> scratch(std::uint64_t size_bytes);

  /// The purpose of memory that a library allocates by itself.
  enum class Aside {
    for_a_command,  ///< released when the command is done
    for_long,
  };
  /// Reserves room for memory that a library allocates by itself, until the last holder releases
  /// it.
  /// Never waits.   Errors: out_of_memory
  Result<std::shared_ptr<const void>> set_aside(std::uint64_t size_bytes, Aside what);

  /// Makes every n-th allocation fail, for tests; 0: none.   Threads: before others
  void fail_allocations(unsigned every) noexcept { buffers_.fail_allocations(every); }

 private:
  struct Idle {
    std::byte* data;
    std::uint64_t bytes;
  };

  Result<std::shared_ptr<DeviceBuffer>> obtain(std::uint64_t size_bytes, bool may_wait);
  Result<std::byte*> memory(std::uint64_t bytes);
  void release(std::byte* data, std::uint64_t bytes) noexcept;
  void drop(std::list<Idle>& gone) noexcept;
  std::list<Idle> shrink_to(std::uint64_t idle_bytes);
  void mark_freed(const DeviceBuffer& buffer);

  const std::unique_ptr<MemorySource> source_;
  CountedMemory bytes_;
  BufferTable<DeviceBuffer> buffers_;

  mutable std::mutex mutex_;  // guards all below
  std::list<Idle> idle_;      // front: most recently freed
  MemoryUse counts_;
};

}  // namespace ob
