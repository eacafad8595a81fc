#pragma once
// A block of doubles in host memory, as the operations see it.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sial/code/program.hpp"

namespace ob::sial {

/// Elements of a block, at `data[sum of i_d * strides[d]]`.
/// Units: extents and strides in elements. A block of its own is column-major and dense; a block
/// inside a static array or a region has the strides of the whole.
template <class Element>
struct BasicView {
  Element* data = nullptr;
  unsigned rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};
  std::array<std::int64_t, kMaxRank> strides{};
  /// Per dimension: the identity of the index. Equal identities mean the same index.
  std::array<std::uint32_t, kMaxRank> labels{};
  /// Bit d: dimension d belongs to a simple index. Its extent is 1.
  std::uint32_t simple = 0;

  std::int64_t elements() const noexcept {
    std::int64_t product = 1;
    for (unsigned d = 0; d < rank; ++d) product *= extents[d];
    return product;
  }
};

using View = BasicView<double>;
using ConstView = BasicView<const double>;

}  // namespace ob::sial
