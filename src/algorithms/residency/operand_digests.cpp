#include "algorithms/residency/operand_digests.hpp"

#include <algorithm>

#include "base/chunks.hpp"

namespace ob::algorithms {
namespace {

// An operand whose extent is more than this many times its size is not tracked: most of the memory
// in its pages belongs to other data.
constexpr std::uint64_t kWidestSpread = 4;
// The most checks between two attempts to arm memory of a kind that cannot be armed.
constexpr unsigned kLongestPause = 1023;
// The most doublings of the number of checks that must find a chunk unchanged before it is armed.
constexpr unsigned kMostDoublings = 6;

AddressRange extent_of(const std::byte* data, const Region& region) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data) + region.offset_bytes;
  return {begin, begin + extent_bytes(region)};
}

}  // namespace

void OperandDigests::look(const PageTracking& tracking, const std::byte* data, const Region& home,
                          std::uint64_t chunk_bytes, bool stays) {
  if (data != data_ || home != home_ || chunk_bytes != chunk_bytes_) {
    seen_.clear();
    data_ = data;
    home_ = home;
    chunk_bytes_ = chunk_bytes;
  }
  seen_.resize(Chunks(home, chunk_bytes).count());
  for (Seen& seen : seen_) {
    seen.current = seen.unread = false;
    seen.armed = 0;
  }
  const std::uint64_t bytes = packed_bytes(home);
  if (tracking.tracker == nullptr || bytes < tracking.least_bytes ||
      extent_bytes(home) / kWidestSpread > bytes) {
    return;
  }
  recall(*tracking.tracker);
  if (stays) arm(tracking);
}

// Reuses the digests of chunks whose pages were not written.
void OperandDigests::recall(PageTracker& tracker) {
  if (std::none_of(seen_.begin(), seen_.end(), [](const Seen& s) { return s.since != 0; })) return;
  const PageTracker::View view = tracker.look(extent_of(data_, home_));
  for (std::uint64_t i = 0; i < seen_.size(); ++i) {
    Seen& seen = seen_[i];
    if (seen.since == 0) continue;
    seen.current = seen.unread = view.unwritten(range_of(i), seen.since);
    if (seen.current) {
      seen.in_vain = 0;
      continue;
    }
    seen.since = 0;
    seen.quiet = 0;
    seen.in_vain = std::min(seen.in_vain + 1, kMostDoublings);
  }
}

bool OperandDigests::is_quiet(const PageTracking& tracking, const Seen& seen) noexcept {
  return !seen.current && seen.quiet >= tracking.quiet_looks << seen.in_vain;
}

// Arms pages before any digest is taken. A write between the two then counts as a write.
void OperandDigests::arm(const PageTracking& tracking) {
  if (looks_to_skip_ > 0) {
    --looks_to_skip_;
    return;
  }
  std::vector<AddressRange> ranges;
  for (std::uint64_t i = 0; i < seen_.size(); ++i) {
    if (!is_quiet(tracking, seen_[i])) continue;
    const AddressRange range = range_of(i);
    if (range.begin == range.end) continue;
    if (!ranges.empty() && ranges.back().end >= range.begin && ranges.back().begin <= range.begin) {
      ranges.back().end = std::max(ranges.back().end, range.end);
    } else {
      ranges.push_back(range);
    }
  }
  if (ranges.empty()) return;
  const PageTracker::Epoch armed = tracking.tracker->arm(ranges);
  pause_ = armed != 0 ? 0 : std::min(2 * pause_ + 1, kLongestPause);
  looks_to_skip_ = pause_;
  for (Seen& seen : seen_) {
    if (is_quiet(tracking, seen)) seen.armed = armed;
  }
}

const Digest& OperandDigests::at(std::uint64_t chunk) noexcept {
  Seen& seen = seen_[chunk];
  if (seen.current) return seen.digest;
  const ChunkParts parts = Chunks(home_, chunk_bytes_).at(chunk);
  seen.digest = digest_of(data_, parts.span());
  seen.since = seen.armed;
  seen.current = true;
  return seen.digest;
}

void OperandDigests::compared(std::uint64_t chunk, bool equal) noexcept {
  Seen& seen = seen_[chunk];
  seen.quiet = equal ? seen.quiet + 1 : 0;
}

AddressRange OperandDigests::range_of(std::uint64_t chunk) const noexcept {
  const ChunkParts parts = Chunks(home_, chunk_bytes_).at(chunk);
  AddressRange range{UINTPTR_MAX, 0};
  for (const Region& part : parts.span()) {
    const AddressRange one = extent_of(data_, part);
    range.begin = std::min(range.begin, one.begin);
    range.end = std::max(range.end, one.end);
  }
  return range.begin < range.end ? range : AddressRange{};  // a chunk beyond a triangle is empty
}

}  // namespace ob::algorithms
