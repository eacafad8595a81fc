#include "grid.hpp"

#include <cmath>

namespace redblack3d {

Grid::Grid(std::int64_t n, const Index& first_cell, const Index& cell_counts)
    : first(first_cell),
      extents(cell_counts),
      padded{cell_counts[0] + 2, cell_counts[1] + 2, cell_counts[2] + 2},
      h2(1.0 / double((n + 1) * (n + 1))),
      u(std::size_t(padded[0] * padded[1] * padded[2])),
      f(u.size()) {
  for (std::int64_t z = 1; z <= extents[0]; ++z)
    for (std::int64_t y = 1; y <= extents[1]; ++y)
      for (std::int64_t x = 1; x <= extents[2]; ++x) {
        // Values that depend on the place in the whole grid only.
        const double cell = double(((first[0] + z) * 131 + first[1] + y) * 137 + first[2] + x);
        at(z, y, x) = std::sin(cell);
        f[std::size_t((z * padded[1] + y) * padded[2] + x)] = std::cos(cell);
      }
}

void relax(Grid& grid, int colour, const Box& box) {
  const std::int64_t row = grid.padded[2];
  const std::int64_t layer = grid.padded[1] * row;
  for (std::int64_t z = box.low[0]; z < box.high[0]; ++z)
    for (std::int64_t y = box.low[1]; y < box.high[1]; ++y) {
      const std::int64_t parity = grid.first[0] + z + grid.first[1] + y + grid.first[2] + colour;
      double* u = grid.u.data() + z * layer + y * row;
      const double* f = grid.f.data() + z * layer + y * row;
      for (std::int64_t x = box.low[2] + ((parity + box.low[2]) & 1); x < box.high[2]; x += 2)
        u[x] = (u[x - 1] + u[x + 1] + u[x - row] + u[x + row] + u[x - layer] + u[x + layer] +
                grid.h2 * f[x]) /
               6.0;
    }
}

Box owned(const Grid& grid) {
  return {{1, 1, 1}, {grid.extents[0] + 1, grid.extents[1] + 1, grid.extents[2] + 1}};
}

}  // namespace redblack3d
