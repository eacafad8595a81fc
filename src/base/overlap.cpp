#include "base/overlap.hpp"

#include <algorithm>

namespace ob {
namespace {

// Column i has the bytes from first + i * pitch up to first + i * pitch + width.
struct Columns {
  std::int64_t first = 0;
  std::int64_t width = 0;
  std::int64_t pitch = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + pitch * (count - 1) + width; }
  Columns column(std::int64_t i) const { return {first + i * pitch, width, width, 1}; }
};

// A region without gaps becomes one column.
Columns columns_of(const Region& region) {
  const auto signed_of = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  Columns columns{signed_of(region.offset_bytes), signed_of(region.rows * region.element_bytes),
                  signed_of(region.ld * region.element_bytes), signed_of(region.cols)};
  if (columns.count == 1 || columns.pitch == columns.width) {
    columns.width *= columns.count;
    columns.pitch = columns.width;
    columns.count = 1;
  }
  return columns;
}

std::int64_t floor_of_ratio(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// Column i of `a` and column j of `b` share a byte exactly if s = i - j satisfies
// d - a.width < s * pitch < d + b.width, where d is the distance of the first columns.
bool overlap_at_pitch(const Columns& a, const Columns& b, std::int64_t pitch) {
  const std::int64_t distance = b.first - a.first;
  const std::int64_t least = floor_of_ratio(distance - a.width, pitch) + 1;
  const std::int64_t most = floor_of_ratio(distance + b.width - 1, pitch);
  return std::max(least, 1 - b.count) <= std::min(most, a.count - 1);
}

// Compares each column of `a` in the common range with all columns of `b`.
bool overlap_by_columns(const Columns& a, const Columns& b) {
  constexpr std::int64_t kMostColumns = 4096;
  const std::int64_t first = std::max<std::int64_t>(0, (b.first - a.first) / a.pitch);
  const std::int64_t end = std::min(a.count, (b.end() - a.first + a.pitch - 1) / a.pitch);
  if (end - first > kMostColumns) return true;
  for (std::int64_t i = first; i < end; ++i) {
    if (overlap_at_pitch(a.column(i), b, b.pitch)) return true;
  }
  return false;
}

}  // namespace

bool overlap(const Region& a, const Region& b) noexcept {
  if (extent_bytes(a) == 0 || extent_bytes(b) == 0) return false;
  const Columns x = columns_of(a);
  const Columns y = columns_of(b);
  if (x.first >= y.end() || y.first >= x.end()) return false;
  if (x.count == 1 && y.count == 1) return true;
  if (x.count == 1 || y.count == 1 || x.pitch == y.pitch) {
    return overlap_at_pitch(x, y, x.count == 1 ? y.pitch : x.pitch);
  }
  return x.pitch > y.pitch ? overlap_by_columns(x, y) : overlap_by_columns(y, x);
}

}  // namespace ob
