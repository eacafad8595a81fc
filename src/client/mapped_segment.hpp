#pragma once
// Memory of the daemon's device, mapped into this process (docs/wire.md, section 9).

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.hpp"
#include "transport/stream.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// Memory: unmapped on destruction; a forked child does not have it   Threads: owner only
class MappedSegment {
 public:
  MappedSegment() = default;
  MappedSegment(MappedSegment&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        size_bytes_(other.size_bytes_),
        offset_bytes_(other.offset_bytes_) {}
  MappedSegment& operator=(MappedSegment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(offset_bytes_, other.offset_bytes_);
    return *this;
  }
  ~MappedSegment();

  /// Receives the descriptor of the segment that `location` describes, and maps it.
  /// Errors: protocol_error if it is not sealed or too small for the buffer; out_of_memory;
  /// those of the stream
  static Result<MappedSegment> receive(transport::Stream& stream, const wire::Location& location,
                                       std::uint64_t buffer_bytes);

  /// The first byte of the buffer; nullptr if nothing is mapped.
  std::byte* buffer() const noexcept {
    return memory_ == nullptr ? nullptr : static_cast<std::byte*>(memory_) + offset_bytes_;
  }

 private:
  void* memory_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::uint64_t offset_bytes_ = 0;
};

}  // namespace ob::client
