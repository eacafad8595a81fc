#pragma once
// A memory file that holds buffers of a device in host memory. Other processes can map it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "device/account.hpp"

namespace ob {

/// A sealed memory file, mapped shared: nobody can shrink it under a reader. It is zero at first.
/// kGuardBytes before and after it are readable, because kernels of some libraries load one step
/// beyond the last element of a vector (complex dot products of OpenBLAS 0.3.21).
/// Memory: page aligned; owns the mapping and the file; asks for huge pages from 2 MiB
/// Threads: any; the user orders accesses to the contents
class HostSegment {
 public:
  static constexpr std::uint64_t kGuardBytes = 4096;

  /// Creates a segment of bytes_for(wanted_bytes).
  /// Errors: out_of_memory, also if no file descriptors are left
  static Result<std::shared_ptr<HostSegment>> create(std::uint64_t wanted_bytes);
  /// Maps a segment of another process, and closes its descriptor. fd() is then -1.
  /// Errors: out_of_memory; invalid_argument if the file is smaller, or not sealed
  static Result<std::shared_ptr<HostSegment>> share(Fd fd, std::uint64_t size_bytes);
  ~HostSegment();
  HostSegment(const HostSegment&) = delete;
  HostSegment& operator=(const HostSegment&) = delete;

  std::byte* data() const noexcept { return data_; }
  /// Returns the size of the memory file: whole pages.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  int fd() const noexcept { return fd_.get(); }
  /// Returns the size of the segment that is made for `wanted_bytes`.
  static std::uint64_t bytes_for(std::uint64_t wanted_bytes) noexcept;

  /// Returns the memory of whole pages to the system. They read as zero afterwards.
  /// @pre offset and size are multiples of the page size, within the segment
  void drop(std::uint64_t offset_bytes, std::uint64_t size_bytes) noexcept;

  /// Keeps `counted` until the segment is destroyed, or the next call.   Threads: owner only
  void hold(std::shared_ptr<const void> counted) noexcept { counted_ = std::move(counted); }

  /// Notes that a client has the file and may keep it mapped.
  bool exported() const noexcept { return exported_.load(std::memory_order_relaxed); }
  void mark_exported() noexcept { exported_.store(true, std::memory_order_relaxed); }

  /// Notes that a process that works for `owner` alone has mapped the segment. Later buffers in the
  /// segment must be the owner's. Holds `mapping` until the next call or the end of the segment.
  /// @param owner Account{user, {}} stands for all sessions of the user
  void map_for(const Account& owner, std::uint64_t process, std::shared_ptr<const void> mapping);
  /// Finds the mapping of a process; nullptr if it has none.
  std::shared_ptr<const void> mapping_of(std::uint64_t process) const;
  /// The same for the process that runs the kernels of a session. A segment may have both.
  void map_for_kernels(const Account& owner, std::uint64_t process,
                       std::shared_ptr<const void> mapping);
  std::shared_ptr<const void> kernel_mapping_of(std::uint64_t process) const;
  /// Returns true if a buffer of `owner` may lie in the segment.
  bool may_serve(const Account& owner) const;

 private:
  HostSegment() = default;
  Status map();

  std::byte* data_ = nullptr;
  std::byte* reserved_ = nullptr;  // begin of the guard before data_
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  Fd fd_;
  std::atomic<bool> exported_{false};
  mutable std::mutex mutex_;
  struct Mapped {
    Account owner;
    std::uint64_t process;
    std::shared_ptr<const void> mapping;
  };
  void note(std::optional<Mapped>& place, Mapped mapped);
  std::optional<Mapped> mapped_;              // guarded by mutex_
  std::optional<Mapped> mapped_for_kernels_;  // guarded by mutex_
  std::shared_ptr<const void> counted_;
};

}  // namespace ob
