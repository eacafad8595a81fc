#pragma once
// The matrix op(X) of a product, with X in host memory.

#include <algorithm>
#include <cstdint>

#include "algorithms/panels/pipeline_model.hpp"
#include "algorithms/residency/placed_operand.hpp"

namespace ob::algorithms {

/// Blocks are given in the coordinates of op(X). Memory is addressed in X as it is stored.
struct OpMatrix {
  PlacedOperand whole;
  bool transposed;

  Block stored(const Block& block) const {
    return transposed ? Block{block.col, block.row, block.cols, block.rows} : block;
  }
  /// The block as an operand in its own buffer.
  PlacedOperand placed(const Block& block) const { return part_of(whole, stored(block)); }
  /// The offset of a row of op(X) inside a block that lies densely in a buffer.
  std::uint64_t offset_bytes(const Block& block, std::uint64_t row) const {
    const Block s = stored(block);
    return (transposed ? row * s.rows : row) * whole.there.element_bytes;
  }
  std::int64_t ld(const Block& block) const {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(1, stored(block).rows));
  }
  std::uint64_t bytes(const Block& block) const {
    return block.rows * block.cols * whole.there.element_bytes;
  }
};

}  // namespace ob::algorithms
