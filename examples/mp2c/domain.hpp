// The part of the box that belongs to a rank: layers of cells along z. The grid of cells is shifted
// at random for each collision, and the domains with it, so a cell never lies on two ranks.
#pragma once

#include <array>
#include <cmath>

namespace mp2c {

/// The shift of the grid [edges of a cell], each number in [0, 1).
using Shift = std::array<double, 3>;

struct Domain {
  std::array<int, 3> cells;  ///< of the whole box
  int rank = 0, ranks = 1;
  int first_layer = 0, layers = 0;

  Domain(const std::array<int, 3>& box, int my_rank, int all_ranks)
      : cells(box), rank(my_rank), ranks(all_ranks), first_layer(begin_of(my_rank)) {
    layers = begin_of(my_rank + 1) - first_layer;
  }

  double length(int dimension) const { return cells[static_cast<std::size_t>(dimension)]; }
  /// Which layer a particle is in: from 0 in this domain, from `layers` on in others.
  int layer_of(double z, double shift) const {
    int place = static_cast<int>(std::floor(z + shift));
    if (place >= cells[2]) place -= cells[2];
    const int layer = place - first_layer;
    return layer < 0 ? layer + cells[2] : layer;
  }
  bool owns(double z, double shift) const { return layer_of(z, shift) < layers; }
  /// Whether a particle of another domain's layer goes up or down to get there.
  bool above(int layer) const { return layer - layers < (cells[2] - layers + 1) / 2; }
  /// The distance of z from the lower border of the domain, negative below.
  double height(double z, double shift) const {
    double above_border = std::fmod(z + shift - first_layer + cells[2], cells[2]);
    if (above_border > 0.5 * (cells[2] + layers)) above_border -= cells[2];
    return above_border;
  }

 private:
  int begin_of(int r) const { return static_cast<int>(static_cast<long>(cells[2]) * r / ranks); }
};

/// Returns a coordinate in [0, length) of one that left the box by less than its length.
inline double wrapped(double x, double length) {
  if (x < 0.0) x += length;
  return x >= length ? x - length : x;
}

/// Returns the shortest of the distances x between periodic images.
inline double shortest(double x, double length) {
  if (x > 0.5 * length) return x - length;
  return x < -0.5 * length ? x + length : x;
}

}  // namespace mp2c
