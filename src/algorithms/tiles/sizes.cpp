#include "algorithms/tiles/sizes.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/real.hpp"

namespace ob::algorithms {
namespace {

// Limits for the thickness of panels. Panels thinner than kThinnest cost more in calls than they
// save in memory. Panels thicker than kThickest gain nothing.
constexpr double kThinnest = 32;
constexpr double kThickest = 1024;
// The edge of a tile divided by the thickness of its panels. The four slots of a square tile then
// take 4 depth rows elements, which is about a tenth of rows^2.
constexpr double kThinness = 40;
// The least number of panels of a sum. The device computes with the first panel while the second
// one is sent.
constexpr std::uint64_t kLeastPanels = 8;
// The strips of a square matrix take one part in this many of the memory.
constexpr std::uint64_t kStripPart = 8;

std::uint64_t even(std::uint64_t length, std::uint64_t part) {
  const std::uint64_t parts = (length + part - 1) / part;
  return (length + parts - 1) / parts;
}

// Tiles with `rows` rows, and as many columns as fit in the memory.
TileSizes tiles_of(const TiledShape& shape, std::uint64_t rows, std::uint64_t depth,
                   std::uint64_t memory) {
  const std::uint64_t slots = 2 * shape.factors * depth;  // elements of all slots per row
  if (rows == 0 || memory <= slots * rows) return {};
  const std::uint64_t cols = (memory - slots * rows) / (rows + slots);
  if (cols == 0) return {};
  return {rows, even(shape.cols, std::min(cols, shape.cols)), depth};
}

}  // namespace

TileSizes choose_tiles(const TiledShape& shape, std::uint64_t memory) {
  if (shape.rows == 0 || shape.cols == 0 || shape.depth == 0) return {};
  const double root = std::sqrt(real(memory));
  const double wanted = std::clamp(root / kThinness, kThinnest, kThickest);
  const auto thin =
      static_cast<std::uint64_t>(std::min({std::max(1.0, root / 8), wanted, real(shape.depth)}));
  TileSizes best;
  for (std::uint64_t down = 1; down <= shape.rows; ++down) {
    const TileSizes sizes = tiles_of(shape, even(shape.rows, shape.rows / down), thin, memory);
    if (!sizes.fits()) continue;
    if (!best.fits() || tile_traffic(shape, sizes) < tile_traffic(shape, best)) best = sizes;
    if (sizes.cols == shape.cols || sizes.rows * 4 < sizes.cols) break;  // flatter tiles cost more
  }
  if (!best.fits()) return {};
  const std::uint64_t room =
      (memory - best.rows * best.cols) / (2 * shape.factors * (best.rows + best.cols));
  const std::uint64_t good = std::max(shape.depth / kLeastPanels, std::uint64_t{1});
  best.depth = std::min({std::max(best.depth, good), room, shape.depth});
  return best;
}

double tile_traffic(const TiledShape& shape, const TileSizes& sizes) noexcept {
  const double across = std::ceil(real(shape.cols) / real(sizes.cols));
  const double down = std::ceil(real(shape.rows) / real(sizes.rows));
  const double factors =
      real(shape.depth) * (real(shape.rows) * across + real(shape.cols) * down) * shape.factors;
  return factors + real(shape.rows) * real(shape.cols);
}

double least_traffic(const TiledShape& shape, std::uint64_t memory) noexcept {
  const double terms = real(shape.rows) * real(shape.cols) * real(shape.depth) * shape.factors;
  return 2 * terms / std::sqrt(real(memory)) - 2 * real(memory);
}

StripSizes choose_strips(std::uint64_t order, std::uint64_t length, unsigned held,
                         std::uint64_t memory) noexcept {
  StripSizes sizes;
  if (order == 0) return sizes;
  const std::uint64_t thickest = std::min(order, static_cast<std::uint64_t>(kThickest) / 2);
  sizes.depth = std::clamp(memory / (2 * kStripPart * order), std::uint64_t{1}, thickest);
  const std::uint64_t slots = 2 * sizes.depth * (order + sizes.depth);
  const std::uint64_t widest = memory > slots ? (memory - slots) / (held * order) : 0;
  sizes.width = widest == 0 ? 0 : even(length, std::min(widest, length));
  return sizes;
}

}  // namespace ob::algorithms
