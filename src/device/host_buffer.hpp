#pragma once
// A device buffer in host memory: a memory file of its own, which another process can map.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace ob {

/// A sealed memory file, mapped shared: nobody can shrink it under a reader. It is zero at first.
/// kGuardBytes before and after it are readable, because kernels of some libraries load one step
/// beyond the last element of a vector (complex dot products of OpenBLAS 0.3.21).
/// Memory: page aligned; owns the mapping and the file; asks for huge pages from 2 MiB
/// Threads: any; the user orders accesses to the contents
class HostBuffer {
 public:
  static constexpr std::uint64_t kGuardBytes = 4096;

  /// Creates a buffer.   Errors: out_of_memory, also if no file descriptors are left
  static Result<std::shared_ptr<HostBuffer>> create(std::uint64_t size_bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::byte* data() const noexcept { return data_; }
  /// Returns the size that the user asked for.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// Returns the size of the memory file: at least size_bytes, whole pages.
  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }
  int fd() const noexcept { return fd_; }
  /// Returns the size of the memory file of a buffer of `size_bytes`.
  static std::uint64_t segment_bytes_for(std::uint64_t size_bytes) noexcept;
  /// Changes the size within the same memory file.
  /// @pre segment_bytes_for(size_bytes) == segment_bytes()
  void set_size(std::uint64_t size_bytes) noexcept {
    OB_EXPECT(segment_bytes_for(size_bytes) == segment_bytes());
    size_bytes_ = size_bytes;
  }

  /// Notes that another process has the file and may keep it mapped.
  bool exported() const noexcept { return exported_.load(std::memory_order_relaxed); }
  void mark_exported() noexcept { exported_.store(true, std::memory_order_relaxed); }

 private:
  HostBuffer() = default;
  Status map();

  std::byte* data_ = nullptr;
  std::byte* reserved_ = nullptr;  // begin of the guard before data_
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t segment_bytes_ = 0;
  int fd_ = -1;
  std::atomic<bool> exported_{false};
};

}  // namespace ob
