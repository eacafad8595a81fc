#include "transport/shm/ring.hpp"

#include <cstring>

namespace ob::transport::shm {

// The indices are sequentially consistent because of sleeping threads; bell.hpp explains why.

std::size_t RingSender::room() const noexcept {
  const std::uint64_t used =
      head_.load(std::memory_order_relaxed) - indices_.tail.load(std::memory_order_seq_cst);
  return used > kRingBytes ? kCorrupt : kRingBytes - static_cast<std::size_t>(used);
}

void RingSender::put(const std::byte* source, std::size_t size_bytes) noexcept {
  const std::size_t at = (head_.load(std::memory_order_relaxed) + pending_) % kRingBytes;
  const std::size_t first = std::min(size_bytes, kRingBytes - at);
  std::memcpy(data_ + at, source, first);
  if (first != size_bytes) std::memcpy(data_, source + first, size_bytes - first);
  pending_ += size_bytes;
  room_ -= size_bytes;
}

void RingSender::publish() noexcept {
  const std::uint64_t head = head_.load(std::memory_order_relaxed) + pending_;
  pending_ = 0;
  head_.store(head, std::memory_order_relaxed);
  indices_.head.store(head, std::memory_order_seq_cst);
}

std::size_t RingReceiver::available() const noexcept {
  const std::uint64_t there =
      indices_.head.load(std::memory_order_seq_cst) - tail_.load(std::memory_order_relaxed);
  return there > kRingBytes ? kCorrupt : static_cast<std::size_t>(there);
}

void RingReceiver::get(std::byte* destination, std::size_t size_bytes) noexcept {
  const std::size_t at = (tail_.load(std::memory_order_relaxed) + pending_) % kRingBytes;
  const std::size_t first = std::min(size_bytes, kRingBytes - at);
  std::memcpy(destination, data_ + at, first);
  if (first != size_bytes) std::memcpy(destination + first, data_, size_bytes - first);
  pending_ += size_bytes;
  available_ -= size_bytes;
}

void RingReceiver::release() noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed) + pending_;
  pending_ = 0;
  tail_.store(tail, std::memory_order_relaxed);
  indices_.tail.store(tail, std::memory_order_seq_cst);
}

}  // namespace ob::transport::shm
