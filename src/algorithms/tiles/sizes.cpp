#include "algorithms/tiles/sizes.hpp"

#include <algorithm>
#include <cmath>

namespace ob::algorithms {
namespace {

// Panels thinner than the first cost more in calls than they save in memory; from the last on,
// thicker ones gain nothing.
constexpr double kThinnest = 32;
constexpr double kThickest = 1024;
// Of the edge of a tile: 4 depth rows are about a tenth of rows^2.
constexpr double kThinness = 40;
// Panels that a sum has at least, so that the first does not have to be complete for the second.
constexpr std::uint64_t kLeastPanels = 8;
// Part of the memory that strips of a square matrix take.
constexpr std::uint64_t kStripPart = 8;

double real(std::uint64_t number) { return static_cast<double>(number); }

std::uint64_t even(std::uint64_t length, std::uint64_t part) {
  const std::uint64_t parts = (length + part - 1) / part;
  return (length + parts - 1) / parts;
}

// Tiles of so many rows, and as many columns as there is memory for.
TileSizes tiles_of(const TiledShape& shape, std::uint64_t rows, std::uint64_t depth,
                   std::uint64_t memory) {
  const std::uint64_t slots = 2 * shape.factors * depth;  // a row's elements of panels
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
    if (sizes.cols == shape.cols || sizes.rows * 4 < sizes.cols) break;  // flatter only costs more
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
