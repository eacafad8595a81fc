#include "base/layout.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"

namespace ob {
namespace {

constexpr std::uint64_t kSaturated = UINT64_MAX;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kSaturated : product;
}

std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kSaturated : sum;
}

struct Rows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Returns the referenced rows of one column.
Rows rows_of_column(const Region& region, std::uint64_t column) noexcept {
  const std::uint64_t rows = region.rows;
  switch (region.triangle) {
    case Triangle::full: return {0, rows};
    case Triangle::upper: return {0, std::min(column + 1, rows)};
    case Triangle::upper_strict: return {0, std::min(column, rows)};
    case Triangle::lower: return {std::min(column, rows), rows - std::min(column, rows)};
    case Triangle::lower_strict:
      return {std::min(column + 1, rows), rows - std::min(column + 1, rows)};
  }
  return {};
}

// Returns the number of elements in the upper triangle of rows x cols, diagonal included.
std::uint64_t upper_elements(std::uint64_t rows, std::uint64_t cols) noexcept {
  const std::uint64_t square = std::min(rows, cols);
  const std::uint64_t triangle =
      square % 2 == 0 ? multiply(square / 2, square + 1) : multiply(square, (square + 1) / 2);
  return add(triangle, multiply(rows, cols - square));
}

std::uint64_t referenced_elements(const Region& region) noexcept {
  const std::uint64_t all = multiply(region.rows, region.cols);
  const std::uint64_t diagonal = std::min(region.rows, region.cols);
  if (all == kSaturated) return all;
  const std::uint64_t upper = upper_elements(region.rows, region.cols);
  switch (region.triangle) {
    case Triangle::full: return all;
    case Triangle::upper: return upper;
    case Triangle::upper_strict: return upper - diagonal;
    case Triangle::lower: return all - upper + diagonal;
    case Triangle::lower_strict: return all - upper;
  }
  return kSaturated;
}

}  // namespace

std::uint64_t packed_bytes(const Region& region) noexcept {
  return multiply(referenced_elements(region), region.element_bytes);
}

std::uint64_t extent_bytes(const Region& region) noexcept {
  if (region.rows == 0 || region.cols == 0) return 0;
  const std::uint64_t elements = add(multiply(region.ld, region.cols - 1), region.rows);
  return multiply(elements, region.element_bytes);
}

bool fits(const Region& region, std::uint64_t buffer_bytes) noexcept {
  if (region.element_bytes == 0 || region.element_bytes > 4096) return false;
  if (static_cast<std::uint8_t>(region.triangle) > 4) return false;
  if (region.cols > 1 && region.ld < std::max<std::uint64_t>(1, region.rows)) return false;
  const std::uint64_t end = add(region.offset_bytes, extent_bytes(region));
  return end != kSaturated && end <= buffer_bytes;
}

Layout Layout::bytes(void* base, std::uint64_t size_bytes) noexcept {
  const Dimension line{size_bytes, 1};
  return strided(base, 1, {&line, 1});
}

Layout Layout::matrix(void* base, const Region& region) noexcept {
  if (region.triangle == Triangle::full) {
    const std::array<Dimension, 2> dimensions{
        Dimension{region.cols, static_cast<std::int64_t>(region.ld * region.element_bytes)},
        Dimension{region.rows, static_cast<std::int64_t>(region.element_bytes)}};
    return strided(static_cast<std::byte*>(base) + region.offset_bytes, region.element_bytes,
                   dimensions);
  }
  Layout layout;
  layout.base_ = static_cast<std::byte*>(base) + region.offset_bytes;
  layout.is_matrix_ = true;
  layout.region_ = region;
  layout.total_bytes_ = packed_bytes(region);
  return layout;
}

Layout Layout::strided(void* base, std::uint32_t element_bytes,
                       std::span<const Dimension> dimensions) noexcept {
  OB_EXPECT(dimensions.size() <= kMaxDimensions);
  Layout layout;
  layout.base_ = static_cast<std::byte*>(base);
  layout.run_bytes_ = element_bytes;
  layout.total_bytes_ = element_bytes;
  for (const Dimension& d : dimensions) layout.total_bytes_ *= d.count;
  if (layout.total_bytes_ == 0) return layout;
  // From the fastest dimension outwards: a dimension that continues the run is absorbed into it,
  // and one that continues the next outer loop is merged with that loop.
  std::array<Dimension, kMaxDimensions> outer{};
  int rank = 0;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const Dimension& d = dimensions[i];
    if (d.count == 1) continue;
    const bool run_continues =
        rank == 0 && d.stride_bytes == static_cast<std::int64_t>(layout.run_bytes_);
    if (run_continues) {
      layout.run_bytes_ *= d.count;
    } else if (rank > 0 && d.stride_bytes == outer[rank - 1].stride_bytes *
                                                 static_cast<std::int64_t>(outer[rank - 1].count)) {
      outer[rank - 1].count *= d.count;
    } else {
      outer[rank++] = d;
    }
  }
  layout.rank_ = rank;
  for (int i = 0; i < rank; ++i) layout.dimensions_[i] = outer[rank - 1 - i];
  return layout;
}

std::uint64_t Layout::piece_bytes() const noexcept {
  if (!is_matrix_) return total_bytes_ == 0 ? 0 : run_bytes_;
  if (total_bytes_ == 0) return 0;
  // Upper triangles are longest in the last column, lower ones in the first.
  const std::uint64_t rows =
      std::max(rows_of_column(region_, 0).count, rows_of_column(region_, region_.cols - 1).count);
  return rows * region_.element_bytes;
}

Layout::Cursor::Cursor(const Layout& layout) noexcept : layout_(&layout) {
  end_ = layout.total_bytes_ == 0;
  load();
}

void Layout::Cursor::load() noexcept {
  if (end_) return;
  const Layout& l = *layout_;
  if (!l.is_matrix_) {
    std::int64_t offset = 0;
    for (int i = 0; i < l.rank_; ++i) {
      offset += static_cast<std::int64_t>(index_[i]) * l.dimensions_[i].stride_bytes;
    }
    at_ = l.base_ + offset;
    left_ = l.run_bytes_;
    return;
  }
  if (column_ == 0 && rows_of_column(l.region_, 0).count == 0) column_ = 1;  // upper_strict
  const Rows rows = column_ < l.region_.cols ? rows_of_column(l.region_, column_) : Rows{};
  // a lower triangle ends at the diagonal, however many columns follow
  end_ = rows.count == 0;
  if (end_) return;
  at_ = l.base_ + (column_ * l.region_.ld + rows.first) * l.region_.element_bytes;
  left_ = rows.count * l.region_.element_bytes;
}

void Layout::Cursor::advance(std::uint64_t count_bytes) noexcept {
  OB_EXPECT(count_bytes <= piece().size());
  at_ += count_bytes;
  left_ -= count_bytes;
  if (left_ != 0 || end_) return;
  const Layout& l = *layout_;
  if (l.is_matrix_) {
    ++column_;
  } else {
    int i = l.rank_ - 1;
    while (i >= 0 && ++index_[i] == l.dimensions_[i].count) index_[i--] = 0;
    end_ = i < 0;
  }
  load();
}

void copy(const Layout& destination, const Layout& source) noexcept {
  OB_EXPECT(source.total_bytes() == destination.total_bytes());
  Layout::Cursor to(destination);
  Layout::Cursor from(source);
  while (!to.done() && !from.done()) {
    const std::size_t n = std::min(to.piece().size(), from.piece().size());
    std::memcpy(to.piece().data(), from.piece().data(), n);
    to.advance(n);
    from.advance(n);
  }
}

std::uint64_t gather(Layout::Cursor& source, std::span<std::byte> destination) noexcept {
  std::uint64_t copied = 0;
  while (copied < destination.size() && !source.done()) {
    const std::size_t n = std::min<std::size_t>(source.piece().size(), destination.size() - copied);
    std::memcpy(destination.data() + copied, source.piece().data(), n);
    source.advance(n);
    copied += n;
  }
  return copied;
}

std::uint64_t scatter(std::span<const std::byte> source, Layout::Cursor& destination) noexcept {
  std::uint64_t copied = 0;
  while (copied < source.size() && !destination.done()) {
    const std::size_t n = std::min<std::size_t>(destination.piece().size(), source.size() - copied);
    std::memcpy(destination.piece().data(), source.data() + copied, n);
    destination.advance(n);
    copied += n;
  }
  return copied;
}

}  // namespace ob
