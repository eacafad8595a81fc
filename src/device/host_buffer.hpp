#pragma once
// A device buffer that is host memory: a memory file of its own, which another process can map.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"

namespace ob {

/// A sealed memory file (nobody can shrink it under a reader), mapped shared; read as zero before
/// it is written.
/// Memory: page aligned, owns the mapping and the file; huge pages are asked for from 2 MiB.
/// kGuardBytes before and after it can be read, too: kernels of some libraries look one step beyond
/// the last element of a vector (complex dot products of OpenBLAS 0.3.21)
/// Threads: any; the contents are the user's to order
class HostBuffer {
 public:
  static constexpr std::uint64_t kGuardBytes = 4096;

  /// Errors: out_of_memory, also if the process has no file descriptors left.
  static Result<std::shared_ptr<HostBuffer>> create(std::uint64_t size_bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::byte* data() const noexcept { return data_; }
  /// What the user asked for.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// The memory file: at least size_bytes, whole pages.
  std::uint64_t segment_bytes() const noexcept { return segment_bytes_; }
  int fd() const noexcept { return fd_; }
  /// Of a buffer of that size.
  static std::uint64_t segment_bytes_for(std::uint64_t size_bytes) noexcept;
  /// Makes it a buffer of another size. @pre one of the same segment_bytes
  void set_size(std::uint64_t size_bytes) noexcept { size_bytes_ = size_bytes; }

  /// Another process may have the file, and keep it mapped for as long as it likes.
  bool exported() const noexcept { return exported_.load(std::memory_order_relaxed); }
  void mark_exported() noexcept { exported_.store(true, std::memory_order_relaxed); }

 private:
  HostBuffer() = default;
  Status map();

  std::byte* data_ = nullptr;
  std::byte* reserved_ = nullptr;  // data_ with its guards
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t segment_bytes_ = 0;
  int fd_ = -1;
  std::atomic<bool> exported_{false};
};

}  // namespace ob
