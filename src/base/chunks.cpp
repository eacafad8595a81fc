#include "base/chunks.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ob {
namespace {

Region part(const Region& whole, std::uint64_t row, std::uint64_t column, std::uint64_t rows,
            std::uint64_t cols, Triangle triangle) noexcept {
  Region region = whole;
  region.offset_bytes += (column * whole.ld + row) * whole.element_bytes;
  region.rows = rows;
  region.cols = cols;
  region.triangle = triangle;
  return region;
}

}  // namespace

Chunks::Chunks(const Region& region, std::uint64_t target_bytes) noexcept
    : region_(region), by_rows_(region.cols == 1 && region.triangle == Triangle::full) {
  const std::uint64_t unit_bytes =
      std::max<std::uint64_t>(1, (by_rows_ ? 1 : region.rows) * region.element_bytes);
  const std::uint64_t units = by_rows_ ? region.rows : region.cols;
  step_ =
      std::clamp<std::uint64_t>(target_bytes / unit_bytes, 1, std::max<std::uint64_t>(units, 1));
  count_ = packed_bytes(region) == 0 ? 0 : units / step_ + (units % step_ != 0 ? 1 : 0);
}

ChunkParts Chunks::at(std::uint64_t index) const noexcept {
  OB_EXPECT(index < count());
  const Region& all = region_;
  const std::uint64_t first = index * step_;
  ChunkParts parts;
  const auto add = [&](const Region& region) {
    if (packed_bytes(region) != 0) parts.items[static_cast<std::size_t>(parts.count++)] = region;
  };
  if (by_rows_) {
    add(part(all, first, 0, std::min(step_, all.rows - first), 1, Triangle::full));
    return parts;
  }
  const std::uint64_t cols = std::min(step_, all.cols - first);
  switch (all.triangle) {
    case Triangle::full: add(part(all, 0, first, all.rows, cols, Triangle::full)); break;
    case Triangle::upper:
    case Triangle::upper_strict: {
      // every element above the diagonal block is referenced
      const std::uint64_t above = std::min(first, all.rows);
      add(part(all, 0, first, above, cols, Triangle::full));
      add(part(all, above, first, std::min(cols, all.rows - above), cols, all.triangle));
      break;
    }
    case Triangle::lower:
    case Triangle::lower_strict:
      if (first < all.rows) add(part(all, first, first, all.rows - first, cols, all.triangle));
      break;
  }
  return parts;
}

}  // namespace ob
