#pragma once
// Boxes of cells with 1 to 4 dimensions. An unused dimension is [0, 1), so that no code depends on
// the number of dimensions.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ob::overlap {

constexpr int kDims = 4;
using Index = std::array<std::int64_t, kDims>;

/// The cells `low <= i < high`.
struct Box {
  Index low{};
  Index high{1, 1, 1, 1};

  bool operator==(const Box&) const = default;

  std::int64_t extent(int dim) const noexcept { return high[dim] - low[dim]; }
  bool empty() const noexcept;
  /// Returns the number of cells.
  std::int64_t cells() const noexcept;
  /// Returns true if all cells of `inner` are in this box. An empty box is in every box.
  bool contains(const Box& inner) const noexcept;
};

/// Returns the common cells, which may be none.
Box intersect(const Box& a, const Box& b) noexcept;

/// Returns the cells of `box` that are not in `hole`, as disjoint boxes: at most two per dimension.
std::vector<Box> subtract(const Box& box, const Box& hole);

/// Returns the cells of `boxes` that are not in `hole`, as disjoint boxes if `boxes` are disjoint.
std::vector<Box> subtract(const std::vector<Box>& boxes, const Box& hole);

/// Returns the first `dims` ranges, e.g. "[0:4, 1:9]".
std::string to_string(const Box& box, int dims);

}  // namespace ob::overlap
