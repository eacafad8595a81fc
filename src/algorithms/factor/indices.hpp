#pragma once
// The index spaces of a matrix in block columns (block rows, where rows are distributed).

#include "algorithms/index.hpp"

namespace ob::algorithms {

/// A block. A block that is factored is called a panel, and keeps its index.
using BlockIndex = Index<struct BlockTag>;
/// A slab: blocks that are on the devices at the same time.
using SlabIndex = Index<struct SlabTag>;
/// A row or column of the whole matrix.
using GlobalIndex = Index<struct GlobalTag>;
/// A row or column of the part of a slab that one device holds.
using LocalIndex = Index<struct LocalTag>;

}  // namespace ob::algorithms
