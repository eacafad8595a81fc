#include "transport/ucx/receive_ring.hpp"

#include <algorithm>
#include <iterator>

namespace ob::transport::ucx {

ReceiveRing::Piece* ReceiveRing::expect(std::uint64_t offset, std::size_t size_bytes) {
  // All values came over the network, and are bounded before they are added.
  const bool sound = size_bytes != 0 && size_bytes <= kPieceBytes && offset >= arrived_ &&
                     offset - consumed_ <= kRingBytes &&
                     size_bytes <= kRingBytes - (offset - consumed_) &&
                     size_bytes <= Ring::contiguous(offset);
  if (!sound) return nullptr;
  const auto after = std::find_if(pieces_.rbegin(), pieces_.rend(), [&](const auto& piece) {
                       return piece->offset <= offset;
                     }).base();
  if (after != pieces_.end() && (*after)->offset < offset + size_bytes) return nullptr;
  if (after != pieces_.begin()) {
    const Piece& before = **std::prev(after);
    if (before.offset + before.size_bytes > offset) return nullptr;
  }
  auto piece = std::make_unique<Piece>();
  piece->offset = offset;
  piece->size_bytes = size_bytes;
  piece->to = ring_.at(offset);
  return pieces_.insert(after, std::move(piece))->get();
}

bool ReceiveRing::settle() noexcept {
  while (!pieces_.empty() && pieces_.front()->operation.done &&
         pieces_.front()->offset == arrived_) {
    if (pieces_.front()->operation.failed) return false;
    arrived_ += pieces_.front()->size_bytes;
    pieces_.pop_front();
  }
  return true;
}

std::span<const std::byte> ReceiveRing::readable() noexcept {
  const auto ready = static_cast<std::size_t>(arrived_ - consumed_);
  return {ring_.at(consumed_), std::min(ready, Ring::contiguous(consumed_))};
}

}  // namespace ob::transport::ucx
