#include "transport/ucx/send_ring.hpp"

#include <algorithm>

namespace ob::transport::ucx {

std::size_t SendRing::room() const noexcept {
  return kRingBytes - static_cast<std::size_t>(sent_ - std::min(settled_, credited_));
}

std::span<std::byte> SendRing::reserve() noexcept {
  const std::size_t size_bytes = std::min({room(), Ring::contiguous(sent_), kPieceBytes});
  return {ring_.at(sent_), size_bytes};
}

PendingSend& SendRing::commit(std::size_t size_bytes, const Token& token) {
  PendingSend& piece = pieces_.emplace_back();
  piece.header = {token, sent_};
  piece.data = {ring_.at(sent_), size_bytes};
  sent_ += size_bytes;
  return piece;
}

bool SendRing::settle() noexcept {
  while (!pieces_.empty() && pieces_.front().operation.done) {
    if (pieces_.front().operation.failed) return false;
    settled_ += pieces_.front().data.size();
    pieces_.pop_front();
  }
  return true;
}

bool SendRing::credit(std::uint64_t consumed) noexcept {
  if (consumed > sent_) return false;
  credited_ = std::max(credited_, consumed);  // credits may arrive out of order
  return true;
}

}  // namespace ob::transport::ucx
