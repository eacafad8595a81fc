#pragma once
// A device buffer in host memory: a place in a segment.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/host_segment.hpp"

namespace ob {

/// Keeps its segment alive.
/// Threads: any; the user orders accesses to the contents
class HostBuffer {
 public:
  /// @pre offset_bytes + size_bytes <= segment->size_bytes()
  HostBuffer(std::shared_ptr<HostSegment> segment, std::uint64_t offset_bytes,
             std::uint64_t size_bytes)
      : segment_(std::move(segment)), offset_bytes_(offset_bytes), size_bytes_(size_bytes) {
    OB_EXPECT(offset_bytes <= segment_->size_bytes() &&
              size_bytes <= segment_->size_bytes() - offset_bytes);
  }

  std::byte* data() const noexcept { return segment_->data() + offset_bytes_; }
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// Returns the place of the first byte in the segment.
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  const std::shared_ptr<HostSegment>& segment() const noexcept { return segment_; }

 private:
  std::shared_ptr<HostSegment> segment_;
  std::uint64_t offset_bytes_;
  std::uint64_t size_bytes_;
};

}  // namespace ob
