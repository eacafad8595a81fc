#pragma once
// The shared memory of one connection. Both sides can write all of it at any time. So each side
// trusts only its private copies of its own indices, and checks the indices of the other side.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ob::transport::shm {

// Measured with bench/stream and 2 MiB of L2 per core: pieces of 1 MiB stream at 12 GB/s through
// rings of 256 and 512 KiB, and at 10 GB/s through 1 MiB. Larger rings are slower, since ring and
// pieces then evict each other from the cache. 256 KiB loses a tenth of the rate of 64 KiB pieces.
inline constexpr std::size_t kRingBytes = std::size_t{512} << 10;
inline constexpr std::size_t kDataOffsetBytes = 4096;
inline constexpr std::size_t kMemoryBytes = kDataOffsetBytes + 2 * kRingBytes;

/// The two ends. The value is also the index of the ring that the end sends into, and of the bell
/// that it sleeps on.
enum class Side : unsigned { listener = 0, connector = 1 };
constexpr Side other(Side side) noexcept {
  return side == Side::listener ? Side::connector : Side::listener;
}

// Members are 128 bytes apart, because processors fetch neighbouring cache lines in pairs.
/// The counts of bytes produced and consumed so far. Byte i lies at i % kRingBytes of the ring.
struct RingIndices {
  alignas(128) std::atomic<std::uint64_t> head;  ///< written by the sender
  alignas(128) std::atomic<std::uint64_t> tail;  ///< written by the receiver
};

/// The words that one side sleeps on. The counts let the other side skip the system call when
/// nobody sleeps.
struct BellWords {
  alignas(128) std::atomic<std::uint32_t> rings;  ///< futex; changed by the other side
  alignas(128) std::atomic<std::uint32_t> sleeping_receivers;
  std::atomic<std::uint32_t> sleeping_senders;
  std::atomic<std::uint32_t> closed;  ///< set by this side: nothing more will come
};

struct Header {
  RingIndices rings[2];
  BellWords bells[2];
};

static_assert(sizeof(Header) <= kDataOffsetBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace ob::transport::shm
