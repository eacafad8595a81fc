#pragma once
// The extents of a block.

#include <array>
#include <cstdint>

#include "sial/code/program.hpp"

namespace ob::sial {

/// Units: elements. Dimensions beyond the rank have no meaning.
struct Shape {
  unsigned rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};

  std::int64_t elements() const noexcept {
    std::int64_t product = 1;
    for (unsigned d = 0; d < rank; ++d) product *= extents[d];
    return product;
  }
  friend bool operator==(const Shape& left, const Shape& right) noexcept {
    if (left.rank != right.rank) return false;
    for (unsigned d = 0; d < left.rank; ++d) {
      if (left.extents[d] != right.extents[d]) return false;
    }
    return true;
  }
};

}  // namespace ob::sial
