#include "device/host_device.hpp"

#include <algorithm>
#include <utility>

#include "base/chunks.hpp"
#include "device/region_checks.hpp"

namespace ob {
namespace {

// Copying runs at several GB/s, and starting on a piece (a column) costs some 20 ns; both roughly,
// on the slow side: fresh memory is touched here for the first time.
bool cheap_copy(const Layout& a, const Layout& b) {
  const std::uint64_t piece =
      std::max<std::uint64_t>(1, std::min(a.piece_bytes(), b.piece_bytes()));
  const double pieces = static_cast<double>(a.total_bytes()) / static_cast<double>(piece);
  const double seconds = static_cast<double>(a.total_bytes()) / 4e9 + pieces * 20e-9;
  return seconds < HostQueue::kCheapSeconds;
}

}  // namespace

HostDevice::HostDevice(DeviceInfo info) : info_(std::move(info)), memory_(info_.memory_bytes) {
  info_.host_visible = true;
}

MemoryUse HostDevice::memory_use() const {
  const HostBufferPool::Use pool = memory_.pool_use();
  return {memory_.used_bytes(), pool.idle_bytes, pool.asked, pool.reused};
}

Result<BufferId> HostDevice::allocate(std::uint64_t size_bytes) {
  return memory_.allocate(size_bytes);
}

Status HostDevice::free(BufferId buffer) { return memory_.free(buffer); }

std::byte* HostDevice::host_view(BufferId id) noexcept {
  const auto buffer = memory_.find(id);
  return buffer == nullptr ? nullptr : buffer->data();
}

Result<SegmentView> HostDevice::segment(BufferId id) {
  const auto buffer = memory_.find(id);
  if (buffer == nullptr) {
    return Status(Code::invalid_argument, "buffer " + std::to_string(id.value) + " does not exist");
  }
  buffer->mark_exported();
  return SegmentView{buffer->fd(), 0, buffer->segment_bytes()};
}

Status HostDevice::write(QueueId queue_id, BufferId id, const Region& region,
                         const Layout& source) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = memory_.held(id);
  Status status = check_region("write", id, buffer, region);
  if (status.ok()) status = check_sizes("write", source.total_bytes(), packed_bytes(region));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout destination = Layout::matrix(buffer.data, region);
  queue->submit({.cheap = cheap_copy(destination, source)},
                [destination, source, buffer = std::move(buffer)](QueueReport&) {
                  ob::copy(destination, source);
                  return Status();
                });
  return {};
}

Status HostDevice::read(QueueId queue_id, BufferId id, const Region& region,
                        const Layout& destination) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = memory_.held(id);
  Status status = check_region("read", id, buffer, region);
  if (status.ok()) status = check_sizes("read", packed_bytes(region), destination.total_bytes());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout source = Layout::matrix(buffer.data, region);
  queue->submit({.cheap = cheap_copy(destination, source)},
                [destination, source, buffer = std::move(buffer)](QueueReport&) {
                  ob::copy(destination, source);
                  return Status();
                });
  return {};
}

Status HostDevice::copy(QueueId queue_id, BufferId source_id, const Region& from,
                        BufferId destination_id, const Region& to) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory source = memory_.held(source_id);
  HeldMemory destination = memory_.held(destination_id);
  Status status = check_region("copy", source_id, source, from);
  if (status.ok()) status = check_region("copy", destination_id, destination, to);
  if (status.ok()) status = check_sizes("copy", packed_bytes(from), packed_bytes(to));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout source_layout = Layout::matrix(source.data, from);
  const Layout layout = Layout::matrix(destination.data, to);
  queue->submit({.cheap = cheap_copy(layout, source_layout)},
                [layout, source_layout, source = std::move(source),
                 destination = std::move(destination)](QueueReport&) {
                  ob::copy(layout, source_layout);
                  return Status();
                });
  return {};
}

Status HostDevice::digest(QueueId queue_id, BufferId id, const Region& region,
                          std::uint64_t chunk_bytes, std::span<Digest> digests) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = memory_.held(id);
  Status status = check_region("digest", id, buffer, region);
  const Chunks chunks(region, chunk_bytes);
  if (status.ok()) status = check_chunks(chunks.count(), digests.size());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double seconds = static_cast<double>(packed_bytes(region)) / 4e9;
  queue->submit({.cheap = seconds < HostQueue::kCheapSeconds},
                [chunks, digests, buffer = std::move(buffer)](QueueReport&) {
                  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
                    const ChunkParts parts = chunks.at(i);
                    digests[i] = digest_of(buffer.data, parts.span());
                  }
                  return Status();
                });
  return {};
}

}  // namespace ob
