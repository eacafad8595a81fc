#include "device/counted_memory.hpp"

#include <string>

namespace ob {

std::uint64_t CountedMemory::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::uint64_t CountedMemory::left_bytes() const {
  const std::lock_guard lock(mutex_);
  return capacity_bytes_ - used_bytes_;
}

Status CountedMemory::reserve(std::uint64_t bytes, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  (void)await_room(lock, bytes, longest);
  if (bytes > capacity_bytes_ - used_bytes_) {
    return {Code::out_of_memory, "no room for " + std::to_string(bytes) + " bytes on the device (" +
                                     std::to_string(used_bytes_) + " of its " +
                                     std::to_string(capacity_bytes_) +
                                     " bytes are in use); free buffers or raise --device-memory"};
  }
  used_bytes_ += bytes;
  return {};
}

bool CountedMemory::await_room(std::uint64_t bytes, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  return await_room(lock, bytes, longest);
}

bool CountedMemory::await_room(std::unique_lock<std::mutex>& lock, std::uint64_t bytes,
                               std::chrono::milliseconds longest) {
  return released_.wait_for(lock, longest, [&] {
    const bool fits = bytes <= capacity_bytes_ - used_bytes_;
    const bool will_fit = bytes <= capacity_bytes_ - (used_bytes_ - freed_in_use_bytes_);
    return fits || !will_fit;
  });
}

void CountedMemory::mark_freed(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  freed_in_use_bytes_ += bytes;
}

void CountedMemory::release(std::uint64_t bytes, std::uint64_t freed_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= bytes;
  freed_in_use_bytes_ -= freed_bytes;
  released_.notify_all();
}

}  // namespace ob
