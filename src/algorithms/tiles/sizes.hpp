#pragma once
// How much of a product a device with little memory works on at a time.

#include <cstdint>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::algorithms {

/// A tile of the result stays on the device while panels of the factors pass through two slots
/// each.   Units: elements
struct TileSizes {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t depth = 0;  ///< of a panel: of the dimension that is summed over
  bool fits() const noexcept { return rows > 0 && cols > 0 && depth > 0; }
};

/// The product whose tiles are wanted.
struct TiledShape {
  std::uint64_t rows = 0;  ///< of the result
  std::uint64_t cols = 0;
  std::uint64_t depth = 0;
  unsigned factors = 1;  ///< 2: sums of two products (syr2k)
};

/// Tiles for which rows cols + 2 factors depth (rows + cols) <= memory and least travels: about
/// square unless the result is narrow, and all about equal. Panels are as thin as their use of
/// memory demands (about a tenth) but no thinner than products run well with, and an eighth of the
/// depth where there is room for it. Source: Hong and Kung's bound, 2 rows cols depth /
/// sqrt(memory), is what square tiles come near
/// @param memory for all of it [elements]
TileSizes choose_tiles(const TiledShape& shape, std::uint64_t memory);

/// Elements that go to the device and, the result, back from it.
double tile_traffic(const TiledShape& shape, const TileSizes& sizes) noexcept;
/// Less cannot be moved by any order: 2 rows cols depth / sqrt(memory) - 2 memory.
double least_traffic(const TiledShape& shape, std::uint64_t memory) noexcept;

/// Columns of B (rows, from the right) that stay while strips of the square matrix pass through two
/// slots.   Units: elements
struct StripSizes {
  std::uint64_t width = 0;  ///< of B, and of C
  std::uint64_t depth = 0;  ///< of a strip of the square matrix
  bool fits() const noexcept { return width > 0 && depth > 0; }
};
/// held order width + 2 depth (order + depth) <= memory: slots for strips and for blocks of the
/// diagonal
/// @param held 1: B is replaced; 2: B and C
StripSizes choose_strips(std::uint64_t order, std::uint64_t length, unsigned held,
                         std::uint64_t memory) noexcept;

}  // namespace ob::algorithms
