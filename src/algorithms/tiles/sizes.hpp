#pragma once
// Chooses the size of the parts of a product on a device with little memory.

#include <cstdint>

#include "algorithms/panels/pipeline_model.hpp"

namespace ob::algorithms {

/// The size of a tile. A tile of the result stays on the device while panels of each factor pass
/// through two slots.
/// Units: elements
struct TileSizes {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t depth = 0;  ///< thickness of a panel, in the dimension that is summed over
  bool fits() const noexcept { return rows > 0 && cols > 0 && depth > 0; }
};

/// The product that is cut into tiles.
struct TiledShape {
  std::uint64_t rows = 0;  ///< rows of the result
  std::uint64_t cols = 0;
  std::uint64_t depth = 0;
  unsigned factors = 1;  ///< 2 for a sum of two products (syr2k)
};

/// Chooses the tiles with the least traffic for which
/// rows cols + 2 factors depth (rows + cols) <= memory.
/// The tiles are about square unless the result is narrow, and all have about the same size. Panels
/// are so thin that they take about a tenth of the memory, but not so thin that products become
/// slow. They have an eighth of the depth if the memory allows it.
/// Source: square tiles come close to the bound of Hong and Kung, 2 rows cols depth / sqrt(memory)
/// @param memory for the tile and all slots [elements]
TileSizes choose_tiles(const TiledShape& shape, std::uint64_t memory);

/// Elements that are transferred: the factors to the device and the result back to the host.
double tile_traffic(const TiledShape& shape, const TileSizes& sizes) noexcept;
/// A lower bound on the traffic of any order: 2 rows cols depth / sqrt(memory) - 2 memory.
double least_traffic(const TiledShape& shape, std::uint64_t memory) noexcept;

/// Sizes for a call in strips. Columns of B (rows if the square matrix is on the right) stay on the
/// device while strips of the square matrix pass through two slots.
/// Units: elements
struct StripSizes {
  std::uint64_t width = 0;  ///< width of B and of C
  std::uint64_t depth = 0;  ///< thickness of a strip of the square matrix
  bool fits() const noexcept { return width > 0 && depth > 0; }
};
/// Chooses sizes for which held order width + 2 depth (order + depth) <= memory. The second term is
/// the slots for strips and for blocks of the diagonal.
/// @param held 1 if the device holds B only (B is replaced); 2 if it holds B and C
StripSizes choose_strips(std::uint64_t order, std::uint64_t length, unsigned held,
                         std::uint64_t memory) noexcept;

}  // namespace ob::algorithms
