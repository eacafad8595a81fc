#include "overlap/halo_geometry.hpp"

#include <algorithm>
#include <string>

namespace ob::overlap {
namespace {

/// Calls `visit` for each index of `box`, the last dimension fastest.
template <class Visit>
void for_each_index(const Box& box, Visit&& visit) {
  Index i{};
  for (i[0] = box.low[0]; i[0] < box.high[0]; ++i[0])
    for (i[1] = box.low[1]; i[1] < box.high[1]; ++i[1])
      for (i[2] = box.low[2]; i[2] < box.high[2]; ++i[2])
        for (i[3] = box.low[3]; i[3] < box.high[3]; ++i[3]) visit(i);
}

Box around_zero(int dims, std::int64_t reach) {
  Box box;
  for (int d = 0; d < dims; ++d) {
    box.low[d] = -reach;
    box.high[d] = reach + 1;
  }
  return box;
}

/// Returns true if some cell reads `offset` from the neighbour in `direction`. In a dimension where
/// the direction is 0, a cell far enough from both ends stays inside, so any offset counts.
bool reads(const Index& offset, const Direction& direction) {
  for (int d = 0; d < kDims; ++d)
    if (direction[d] * offset[d] < 0 || (direction[d] != 0 && offset[d] == 0)) return false;
  return true;
}

}  // namespace

Stencil star(int dims, std::int64_t reach) {
  Stencil stencil;
  for (int d = 0; d < dims; ++d)
    for (std::int64_t r = -reach; r <= reach; ++r) {
      if (r == 0) continue;
      Index offset{};
      offset[d] = r;
      stencil.push_back(offset);
    }
  return stencil;
}

Stencil cube(int dims, std::int64_t reach) {
  Stencil stencil;
  for_each_index(around_zero(dims, reach), [&](const Index& i) { stencil.push_back(i); });
  return stencil;
}

HaloGeometry::HaloGeometry(const HaloShape& shape, const Stencil& stencil) : shape_(shape) {
  for (const Index& offset : stencil)
    for (int d = 0; d < kDims; ++d) {
      reach_low_[d] = std::max(reach_low_[d], -offset[d]);
      reach_high_[d] = std::max(reach_high_[d], offset[d]);
    }
  for_each_index(around_zero(shape.dims, 1), [&](const Index& i) {
    Direction direction{};
    std::transform(i.begin(), i.end(), direction.begin(), [](auto v) { return int(v); });
    if (direction == Direction{}) return;
    const auto read_from = [&](const Direction& side) {
      return std::any_of(stencil.begin(), stencil.end(),
                         [&](const Index& offset) { return reads(offset, side); });
    };
    // The neighbour has the same stencil, and sees this rank in the opposite direction.
    const bool sends = read_from(opposite(direction));
    const bool receives = read_from(direction);
    if (sends || receives) faces_.push_back(face(direction, sends, receives));
  });
}

Result<HaloGeometry> HaloGeometry::create(const HaloShape& shape, const Stencil& stencil) {
  HaloGeometry geometry(shape, stencil);
  for (int d = 0; d < kDims; ++d) {
    const std::string where = "dimension " + std::to_string(d);
    if (d >= shape.dims &&
        (geometry.reach_low_[d] > 0 || geometry.reach_high_[d] > 0 || shape.extents[d] != 1))
      return Status(Code::invalid_argument, where + " is used (the plan has " +
                                                std::to_string(shape.dims) + " dimensions)");
    if (shape.ghost_low[d] < 0 || shape.ghost_high[d] < 0)
      return Status(Code::invalid_argument, "ghost width below 0 in " + where);
    if (geometry.reach_low_[d] > shape.ghost_low[d] ||
        geometry.reach_high_[d] > shape.ghost_high[d])
      return Status(Code::invalid_argument, "the stencil reads beyond the ghost cells in " + where +
                                                " (" + std::to_string(shape.ghost_low[d]) +
                                                " low, " + std::to_string(shape.ghost_high[d]) +
                                                " high) make the ghost wider");
    const std::int64_t own = geometry.owned().extent(d);
    const std::int64_t least = std::max<std::int64_t>({1, shape.ghost_low[d], shape.ghost_high[d]});
    if (own < least)
      return Status(Code::invalid_argument, "a rank owns " + std::to_string(own) + " cells in " +
                                                where + " (at least " + std::to_string(least) +
                                                " are needed) use fewer ranks there");
  }
  return geometry;
}

Box HaloGeometry::owned() const noexcept {
  Box box;
  for (int d = 0; d < kDims; ++d) {
    box.low[d] = shape_.ghost_low[d];
    box.high[d] = shape_.extents[d] - shape_.ghost_high[d];
  }
  return box;
}

HaloFace HaloGeometry::face(const Direction& direction, bool sends, bool receives) const {
  HaloFace face{direction, owned(), owned()};
  const Box own = owned();
  for (int d = 0; d < kDims; ++d) {
    // The neighbour below fills its high ghost cells from here, and the one above its low ones.
    if (direction[d] < 0) {
      face.send.high[d] = own.low[d] + shape_.ghost_high[d];
      face.receive.low[d] = 0;
      face.receive.high[d] = own.low[d];
    } else if (direction[d] > 0) {
      face.send.low[d] = own.high[d] - shape_.ghost_low[d];
      face.receive.low[d] = own.high[d];
      face.receive.high[d] = shape_.extents[d];
    }
  }
  if (!sends) face.send.high = face.send.low;
  if (!receives) face.receive.high = face.receive.low;
  return face;
}

Box HaloGeometry::interior(const std::vector<HaloFace>& used) const {
  const Box own = owned();
  Box inner = own;
  for (const HaloFace& face : used) {
    const bool sends = !face.send.empty();
    const bool receives = !face.receive.empty();
    for (int d = 0; d < kDims; ++d) {
      const std::int64_t low =
          std::max(receives ? reach_low_[d] : 0, sends ? shape_.ghost_high[d] : 0);
      const std::int64_t high =
          std::max(receives ? reach_high_[d] : 0, sends ? shape_.ghost_low[d] : 0);
      if (face.direction[d] < 0) inner.low[d] = std::max(inner.low[d], own.low[d] + low);
      if (face.direction[d] > 0) inner.high[d] = std::min(inner.high[d], own.high[d] - high);
    }
  }
  for (int d = 0; d < kDims; ++d) inner.high[d] = std::max(inner.low[d], inner.high[d]);
  return inner;
}

int direction_tag(const Direction& direction) noexcept {
  int tag = 0;
  for (const int d : direction) tag = 3 * tag + d + 1;
  return tag;
}

Direction opposite(const Direction& direction) noexcept {
  Direction other{};
  std::transform(direction.begin(), direction.end(), other.begin(), [](int d) { return -d; });
  return other;
}

}  // namespace ob::overlap
