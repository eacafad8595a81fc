#pragma once
// The bytes of a device's memory that are in use, against its cap.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/status.hpp"

namespace ob {

/// Counts bytes. A part of them may be freed but still in use by commands: it is released soon.
/// Threads: any
class CountedMemory {
 public:
  explicit CountedMemory(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  std::uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }
  std::uint64_t used_bytes() const;
  /// Returns the rest of the capacity.
  std::uint64_t left_bytes() const;

  /// Counts the bytes, until release(). Does the waiting of await_room() first.
  /// Errors: out_of_memory
  Status reserve(std::uint64_t bytes, std::chrono::milliseconds longest = {});
  /// Waits for the release of freed bytes if there is room afterwards, but no longer than
  /// `longest`. Returns false if the bytes are still in use then.
  bool await_room(std::uint64_t bytes, std::chrono::milliseconds longest);
  /// Notes that counted bytes are released when the commands that use them are done.
  void mark_freed(std::uint64_t bytes);
  /// Ends a reservation.   @param freed_bytes the part of it that was marked
  void release(std::uint64_t bytes, std::uint64_t freed_bytes) noexcept;

 private:
  bool await_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes,
                  std::chrono::milliseconds longest);

  const std::uint64_t capacity_bytes_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable released_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t freed_in_use_bytes_ = 0;  // part of used_bytes_
};

}  // namespace ob
