// The copies of a SharedDevice straight into and out of mapped buffers (docs/wire.md, section 9).

#include <algorithm>
#include <utility>

#include "client/shared_device.hpp"

namespace ob::client {

// Maps a buffer, unless it is mapped.   Errors: those of the buffer's allocation; unsupported
Result<SharedDevice::SegmentPtr> SharedDevice::map(BufferId buffer) {
  std::uint64_t size_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = buffers_.find(buffer.value);
    if (at == buffers_.end()) return Status(Code::invalid_argument, "the buffer does not exist");
    if (at->second.segment != nullptr) return at->second.segment;
    size_bytes = at->second.size_bytes;
  }
  auto mapped = main_->map(buffer, size_bytes);
  if (!mapped.ok()) return note(mapped.status());
  auto segment = std::make_shared<const MappedSegment>(std::move(mapped).value());
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(buffer.value);
  if (at == buffers_.end()) return segment;
  // Another thread may have mapped it meanwhile and use that address.
  if (at->second.segment == nullptr) at->second.segment = std::move(segment);
  return at->second.segment;
}

std::byte* SharedDevice::host_view(BufferId buffer) noexcept {
  if (!info_.host_visible) return nullptr;
  const auto segment = map(buffer);
  return segment.ok() ? (*segment)->buffer() : nullptr;
}

// Returns the mapping through which a copy may run, and maps the buffer if the copy is worth it;
// nullptr if the copy must be a message, which also reports what is wrong with it.
// @param used gets true if a command that uses the buffer may be under way
SharedDevice::SegmentPtr SharedDevice::segment_for(BufferId buffer, const Region& region,
                                                   bool& used) {
  if (!info_.host_visible) return nullptr;
  const std::uint64_t bytes = packed_bytes(region);
  {
    const std::lock_guard lock(mutex_);
    const auto at = buffers_.find(buffer.value);
    if (at == buffers_.end() || bytes == 0) return nullptr;
    const Object& object = at->second;
    if (object.cannot_map || !fits(region, object.size_bytes)) return nullptr;
    used = std::any_of(object.uses.begin(), object.uses.end(),
                       [](const Use& use) { return !use.progress->is_over(use.sequence); });
    if (object.segment != nullptr) return object.segment;
    if (bytes < least_mapped_bytes_) return nullptr;
  }
  auto mapped = map(buffer);
  if (mapped.ok()) return std::move(mapped).value();
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(buffer.value);
  if (at != buffers_.end()) at->second.cannot_map = true;
  return nullptr;
}

// Returns true if the write has run, or is skipped; false if it must be a message. Only this
// thread's queue may make others use the buffer afterwards: by a command that follows in the queue,
// or because the program does so itself when this function has returned.
Result<bool> SharedDevice::write_mapped(QueueId queue, BufferId buffer, const Region& region,
                                        const Layout& source) {
  bool used = false;
  const SegmentPtr segment = segment_for(buffer, region, used);
  if (segment == nullptr || used || waits_outside(queue)) return false;
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  const auto healthy = connection->count(queue);
  if (!healthy.ok()) return note(healthy.status());
  if (!*healthy) return true;
  ob::copy(Layout::matrix(segment->buffer(), region), source);
  ++mapped_copies_;
  return true;
}

// Returns true if the read has run, is skipped, or is left to the thread that waits for the queue;
// false if it must be a message. Commands of other queues cannot change the contents of the buffer
// before: whatever the program orders after the read follows a command of its queue, or a wait.
Result<bool> SharedDevice::read_mapped(QueueId queue, BufferId buffer, const Region& region,
                                       const Layout& destination) {
  bool used = false;
  SegmentPtr segment = segment_for(buffer, region, used);
  if (segment == nullptr) return false;
  OB_ASSIGN_OR_RETURN(const Queue from, find_queue(queue));
  const auto before = from.connection->read(
      queue, {buffer, region, destination, std::move(segment), &mapped_copies_});
  if (!before.ok()) return note(before.status());
  if (*before == 0) return true;
  const Named uses[] = {{buffers_, buffer.value, nullptr}};
  note_uses(uses, {from.connection, from.progress, *before});
  return true;
}

}  // namespace ob::client
