#pragma once
// The part of the grid that a rank has, and the update of its cells.

#include <mpi.h>
#include <outboard/overlap.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace redblack3d {

using Box = outboard::overlap::Box<3>;
using Index = std::array<std::int64_t, 3>;

/// The cells [first, first + extents) of a cube of n^3 cells, with one layer of ghost cells.
/// The dimensions are z, y, x; x is contiguous.
struct Grid {
  Grid(std::int64_t n, const Index& first_cell, const Index& cell_counts);

  double& at(std::int64_t z, std::int64_t y, std::int64_t x) {
    return u[std::size_t((z * padded[1] + y) * padded[2] + x)];
  }

  Index first;
  Index extents;
  Index padded;  ///< extents with ghost cells
  double h2;     ///< the square of the mesh width
  std::vector<double> u;
  std::vector<double> f;
};

/// Updates the cells of one colour in `box` (indices with ghost cells) by the seven-point stencil
/// of Poisson's equation. The updates of a colour do not depend on each other, so no order of boxes
/// changes a bit.
void relax(Grid& grid, int colour, const Box& box);

/// Returns the whole of the grid's own cells.
Box owned(const Grid& grid);

}  // namespace redblack3d
