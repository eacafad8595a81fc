#include "device/host_device.hpp"

#include <algorithm>
#include <utility>

#include "device/fill.hpp"

namespace ob {
namespace {

// Estimates on the slow side, because copies may touch fresh memory for the first time: several
// GB/s, and some 20 ns for each piece (a column).
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
  const HostSegmentPool::Use pool = memory_.pool_use();
  return {memory_.used_bytes(), pool.idle_bytes, pool.asked, pool.reused};
}

Result<BufferId> HostDevice::allocate(std::uint64_t size_bytes, const Account& owner) {
  return memory_.allocate(size_bytes, owner);
}

bool HostDevice::await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest) {
  return memory_.await_room(size_bytes, longest);
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
  OB_RETURN_IF_ERROR(memory_.export_segment(*buffer));
  const HostSegment& segment = *buffer->segment();
  return SegmentView{segment.fd(), buffer->offset_bytes(), segment.size_bytes()};
}

void HostDevice::submit_copy(HostQueue& queue, CheckedCopy copy) {
  const TaskManner manner{.cheap = cheap_copy(copy.to, copy.from)};
  queue.submit(manner, [copy = std::move(copy)](QueueReport&) {
    ob::copy(copy.to, copy.from);
    return Status();
  });
}

void HostDevice::submit_fill(HostQueue& queue, CheckedFill fill) {
  const Layout to = Layout::matrix(fill.buffer.data, fill.region);
  queue.submit({.cheap = cheap_copy(to, to)}, [fill = std::move(fill)](QueueReport&) {
    const auto element = std::span(fill.element).first(fill.region.element_bytes);
    ob::fill(fill.buffer.data, fill.region, element);
    return Status();
  });
}

void HostDevice::submit_digest(HostQueue& queue, CheckedDigest digest) {
  const double seconds = static_cast<double>(digest.total_bytes) / 4e9;
  const TaskManner manner{.cheap = seconds < HostQueue::kCheapSeconds};
  queue.submit(manner, [digest = std::move(digest)](QueueReport&) {
    for (std::uint64_t i = 0; i < digest.chunks.count(); ++i) {
      const ChunkParts parts = digest.chunks.at(i);
      digest.digests[i] = digest_of(digest.buffer.data, parts.span());
    }
    return Status();
  });
}

}  // namespace ob
