#include "client/buffer_cache.hpp"

#include <algorithm>
#include <bit>

namespace ob::client {
namespace {

constexpr std::uint64_t kSmallestClassBytes = 4096;  // a page
// each may hold a mapping and a file descriptor
constexpr std::size_t kMaxEntries = 64;

}  // namespace

std::uint64_t BufferCache::size_class(std::uint64_t size_bytes) noexcept {
  if (size_bytes <= kSmallestClassBytes) return kSmallestClassBytes;
  if (size_bytes > (std::uint64_t{1} << 62)) return size_bytes;
  const std::uint64_t quarter = std::bit_floor(size_bytes) / 4;
  return (size_bytes + quarter - 1) / quarter * quarter;
}

std::optional<BufferId> BufferCache::take(std::uint64_t class_bytes) noexcept {
  auto at = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const bool fits = entry->size_bytes >= class_bytes && entry->size_bytes / 2 <= class_bytes;
    if (fits && (at == entries_.end() || entry->size_bytes < at->size_bytes)) at = entry;
  }
  if (at == entries_.end()) return std::nullopt;
  const BufferId buffer = at->buffer;
  total_bytes_ -= at->size_bytes;
  entries_.erase(at);
  return buffer;
}

std::vector<BufferId> BufferCache::put(BufferId buffer, std::uint64_t class_bytes) {
  entries_.push_front({buffer, class_bytes});
  total_bytes_ += class_bytes;
  return trim();
}

std::vector<BufferId> BufferCache::trim() {
  std::vector<BufferId> evicted;
  while (!entries_.empty() && (total_bytes_ > capacity_bytes_ || entries_.size() > kMaxEntries)) {
    evicted.push_back(entries_.back().buffer);
    total_bytes_ -= entries_.back().size_bytes;
    entries_.pop_back();
  }
  return evicted;
}

std::vector<BufferId> BufferCache::take_all() {
  std::vector<BufferId> all;
  for (const Entry& e : entries_) all.push_back(e.buffer);
  entries_.clear();
  total_bytes_ = 0;
  return all;
}

}  // namespace ob::client
