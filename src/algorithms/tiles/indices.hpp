#pragma once
// The index spaces of products that are computed in tiles.

#include <algorithm>
#include <cstdint>

#include "algorithms/index.hpp"

namespace ob::algorithms {

/// i, j and k of C(i, j) = sum over k of op(A)(i, k) op(B)(k, j).
using RowIndex = Index<struct RowTag>;
using ColumnIndex = Index<struct ColumnTag>;
using DepthIndex = Index<struct DepthTag>;
/// i or j where C is square and one of its triangles is computed.
using OrderIndex = Index<struct OrderTag>;

/// `count` positions of one index space.
template <class Position>
struct IndexRange {
  Position first;
  std::uint64_t count = 0;

  Position end() const noexcept { return first + count; }
};
using RowRange = IndexRange<RowIndex>;
using ColumnRange = IndexRange<ColumnIndex>;
using DepthRange = IndexRange<DepthIndex>;
using OrderRange = IndexRange<OrderIndex>;

/// The positions from `first` on: `count` of them, or fewer at the end of the space.
/// @pre first <= end
template <class Position>
IndexRange<Position> range_from(Position first, std::uint64_t count, Position end) noexcept {
  return {first, std::min(count, end - first)};
}

}  // namespace ob::algorithms
