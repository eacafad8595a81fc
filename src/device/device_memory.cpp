#include "device/device_memory.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace ob {

DeviceMemory::~DeviceMemory() {
  buffers_.free_all(bytes_);
  std::list<Idle> gone = shrink_to(0);
  drop(gone);
}

MemoryUse DeviceMemory::use() const {
  const std::lock_guard lock(mutex_);
  MemoryUse now = counts_;
  now.used_bytes = bytes_.used_bytes();
  return now;
}

Result<BufferId> DeviceMemory::allocate(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(buffers_.may_allocate());
  OB_ASSIGN_OR_RETURN(std::shared_ptr<DeviceBuffer> buffer, obtain(size_bytes, true));
  // Clear the whole buffer: some routines read beyond their operands.
  if (Status cleared = source_->clear(buffer->data(), counted_bytes(size_bytes)); !cleared.ok()) {
    mark_freed(*buffer);
    return cleared;
  }
  return buffers_.add(std::move(buffer));
}

bool DeviceMemory::await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest) {
  return bytes_.await_room(counted_bytes(size_bytes), longest);
}

Result<std::shared_ptr<DeviceBuffer>> DeviceMemory::scratch(std::uint64_t size_bytes) {
  OB_ASSIGN_OR_RETURN(std::shared_ptr<DeviceBuffer> buffer, obtain(size_bytes, false));
  mark_freed(*buffer);  // the remaining holders are commands
  return buffer;
}

Result<std::shared_ptr<const void>> DeviceMemory::set_aside(std::uint64_t size_bytes, Aside what) {
  const std::uint64_t soon_free_bytes = what == Aside::for_a_command ? size_bytes : 0;
  OB_RETURN_IF_ERROR(bytes_.reserve(size_bytes));
  bytes_.mark_freed(soon_free_bytes);
  std::list<Idle> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = shrink_to(bytes_.left_bytes());
  }
  drop(gone);
  return std::shared_ptr<const void>(this, [this, size_bytes, soon_free_bytes](const void*) {
    bytes_.release(size_bytes, soon_free_bytes);
  });
}

Result<std::shared_ptr<DeviceBuffer>> DeviceMemory::obtain(std::uint64_t size_bytes,
                                                           bool may_wait) {
  const std::uint64_t bytes = counted_bytes(size_bytes);
  OB_RETURN_IF_ERROR(
      bytes_.reserve(bytes, may_wait ? kLongestReleaseWait : std::chrono::seconds(0)));
  auto data = memory(bytes);
  if (!data.ok()) {
    bytes_.release(bytes, 0);
    return data.status();
  }
  // Runs when the last holder releases the memory, often the command that used the buffer last.
  return std::shared_ptr<DeviceBuffer>(new DeviceBuffer(*data, size_bytes),
                                       [this, bytes](DeviceBuffer* buffer) {
                                         release(buffer->data(), bytes);
                                         delete buffer;
                                       });
}

Result<std::byte*> DeviceMemory::memory(std::uint64_t bytes) {
  std::list<Idle> gone;
  {
    const std::lock_guard lock(mutex_);
    ++counts_.allocations;
    const auto at = std::find_if(idle_.begin(), idle_.end(),
                                 [&](const Idle& idle) { return idle.bytes == bytes; });
    if (at != idle_.end()) {
      std::byte* const data = at->data;
      counts_.idle_bytes -= bytes;
      ++counts_.reused;
      idle_.erase(at);
      return data;
    }
    gone = shrink_to(bytes_.left_bytes());
  }
  drop(gone);
  auto data = source_->obtain(bytes);
  if (data.ok() || data.status().code() != Code::out_of_memory) return data;
  {  // other programs use the device, too
    const std::lock_guard lock(mutex_);
    gone = shrink_to(0);
  }
  drop(gone);
  return source_->obtain(bytes);
}

void DeviceMemory::release(std::byte* data, std::uint64_t bytes) noexcept {
  std::list<Idle> gone;
  {
    const std::lock_guard lock(mutex_);
    idle_.push_front({data, bytes});
    counts_.idle_bytes += bytes;
    bytes_.release(bytes, bytes);
    gone = shrink_to(bytes_.left_bytes() / 2);
  }
  drop(gone);
}

// Removes the least recently freed buffers until at most idle_bytes are idle. mutex_ is held.
std::list<DeviceMemory::Idle> DeviceMemory::shrink_to(std::uint64_t idle_bytes) {
  std::list<Idle> gone;
  while (counts_.idle_bytes > idle_bytes) {
    counts_.idle_bytes -= idle_.back().bytes;
    gone.splice(gone.end(), idle_, std::prev(idle_.end()));
  }
  return gone;
}

void DeviceMemory::drop(std::list<Idle>& gone) noexcept {
  for (const Idle& idle : gone) source_->give_back(idle.data);
  gone.clear();
}

void DeviceMemory::mark_freed(const DeviceBuffer& buffer) {
  bytes_.mark_freed(counted_bytes(buffer.size_bytes()));
}

}  // namespace ob
