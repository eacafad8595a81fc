#pragma once
// Which cells a halo exchange moves in which direction, and which cells can be updated meanwhile.

#include <vector>

#include "base/status.hpp"
#include "overlap/box.hpp"

namespace ob::overlap {

/// One of the 3^d - 1 neighbours of a rank in a Cartesian communicator: -1, 0 or 1 per dimension.
using Direction = std::array<int, kDims>;

/// The offsets that an update of a cell reads.
using Stencil = std::vector<Index>;

/// Returns the offsets of at most `reach` cells along one axis.
Stencil star(int dims, std::int64_t reach);
/// Returns the offsets of at most `reach` cells along each axis, corners included.
Stencil cube(int dims, std::int64_t reach);

/// The shape of a rank's array: the cells that it owns, with ghost cells around them.
struct HaloShape {
  int dims = 0;
  Index extents{1, 1, 1, 1};  ///< with ghost cells
  Index ghost_low{};          ///< ghost cells before the first owned cell
  Index ghost_high{};         ///< ghost cells behind the last owned cell
};

/// The cells that travel to and from one neighbour. One of the boxes is empty if only one of the
/// two ranks reads from the other.
struct HaloFace {
  Direction direction{};
  Box send;
  Box receive;
};

/// The regions of a halo exchange.
class HaloGeometry {
 public:
  /// Errors: invalid_argument if the stencil reads beyond the ghost cells, or if the rank owns
  /// fewer cells than a neighbour needs.
  static Result<HaloGeometry> create(const HaloShape& shape, const Stencil& stencil);

  const HaloShape& shape() const noexcept { return shape_; }
  /// Returns the cells that this rank updates.
  Box owned() const noexcept;
  /// Returns the faces of all neighbours from which the stencil reads, or which read from here.
  const std::vector<HaloFace>& faces() const noexcept { return faces_; }
  /// Returns the owned cells whose update neither reads a ghost cell nor writes a cell that is sent
  /// if messages travel along `used` faces only. The box may be empty.
  Box interior(const std::vector<HaloFace>& used) const;

 private:
  HaloGeometry(const HaloShape& shape, const Stencil& stencil);
  HaloFace face(const Direction& direction, bool sends, bool receives) const;

  HaloShape shape_;
  Index reach_low_{};   ///< how far the stencil reads towards lower indices
  Index reach_high_{};  ///< and towards higher ones
  std::vector<HaloFace> faces_;
};

/// Returns a number for each direction, less than 3^4, the same on all ranks.
int direction_tag(const Direction& direction) noexcept;
Direction opposite(const Direction& direction) noexcept;

}  // namespace ob::overlap
