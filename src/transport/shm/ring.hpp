#pragma once
// The two ends of a ring with one sender and one receiver.

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "transport/shm/layout.hpp"

namespace ob::transport::shm {

// Bytes copied between two publications. The chunk is long enough to hide the cost of one (a locked
// store and the transfer of a cache line), and short enough that the other side copies one chunk
// out while this side copies the next one in.
inline constexpr std::size_t kChunkBytes = std::size_t{128} * 1024;
inline constexpr std::size_t kCorrupt = SIZE_MAX;

/// The sender's end.   Threads: room() any; the others by the sender only
class RingSender {
 public:
  RingSender(RingIndices& indices, std::byte* data) noexcept : indices_(indices), data_(data) {}

  /// Returns the bytes that can be sent now; kCorrupt if the receiver's index is impossible.
  std::size_t room() const noexcept;

  /// Copies a prefix of `parts` into the ring, calling published() after each publication.
  /// Returns the number of bytes copied, or kCorrupt.
  template <class Published>
  std::size_t send(std::span<const iovec> parts, Published published);

 private:
  void put(const std::byte* source, std::size_t size_bytes) noexcept;
  void publish() noexcept;

  RingIndices& indices_;
  std::byte* const data_;
  std::atomic<std::uint64_t> head_{0};  // our copy; never read back from shared memory
  std::uint64_t pending_ = 0;           // bytes that are copied but not published
  std::size_t room_ = kRingBytes;       // a lower bound of the room; refreshed when it is used up
};

/// The receiver's end.   Threads: available() any; the others by the receiver only
class RingReceiver {
 public:
  RingReceiver(RingIndices& indices, const std::byte* data) noexcept
      : indices_(indices), data_(data) {}

  /// Returns the bytes that can be received now; kCorrupt if the sender's index is impossible.
  std::size_t available() const noexcept;

  /// Copies bytes into a prefix of `parts`, calling released() after each release.
  /// Returns the number of bytes copied, or kCorrupt.
  template <class Released>
  std::size_t receive(std::span<const iovec> parts, Released released);

 private:
  void get(std::byte* destination, std::size_t size_bytes) noexcept;
  void release() noexcept;

  RingIndices& indices_;
  const std::byte* const data_;
  std::atomic<std::uint64_t> tail_{0};  // our copy; never read back from shared memory
  std::uint64_t pending_ = 0;           // bytes that are copied but not released
  std::size_t available_ = 0;           // a lower bound of the bytes; refreshed when it is used up
};

template <class Published>
std::size_t RingSender::send(std::span<const iovec> parts, Published published) {
  std::size_t sent = 0;
  for (const iovec& part : parts) {
    const auto* source = static_cast<const std::byte*>(part.iov_base);
    std::size_t left = part.iov_len;
    while (left != 0) {
      if (room_ == 0) {
        if (pending_ != 0) publish(), published();
        room_ = room();
        if (room_ == kCorrupt) return room_ = 0, kCorrupt;
        if (room_ == 0) return sent;
      }
      const std::size_t size =
          std::min({left, room_, kChunkBytes - static_cast<std::size_t>(pending_)});
      put(source, size);
      source += size;
      left -= size;
      sent += size;
      if (pending_ == kChunkBytes) publish(), published();
    }
  }
  if (pending_ != 0) publish(), published();
  return sent;
}

template <class Released>
std::size_t RingReceiver::receive(std::span<const iovec> parts, Released released) {
  std::size_t received = 0;
  for (const iovec& part : parts) {
    auto* destination = static_cast<std::byte*>(part.iov_base);
    std::size_t left = part.iov_len;
    while (left != 0) {
      if (available_ == 0) {
        if (pending_ != 0) release(), released();
        available_ = available();
        if (available_ == kCorrupt) return available_ = 0, kCorrupt;
        if (available_ == 0) return received;
      }
      const std::size_t size =
          std::min({left, available_, kChunkBytes - static_cast<std::size_t>(pending_)});
      get(destination, size);
      destination += size;
      left -= size;
      received += size;
      if (pending_ == kChunkBytes) release(), released();
    }
  }
  if (pending_ != 0) release(), released();
  return received;
}

}  // namespace ob::transport::shm
