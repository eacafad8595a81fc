#include "overlap/halo_geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/random.hpp"

namespace ob::overlap {
namespace {

std::set<Index> cells_of(const Box& box) {
  std::set<Index> cells;
  Index i{};
  for (i[0] = box.low[0]; i[0] < box.high[0]; ++i[0])
    for (i[1] = box.low[1]; i[1] < box.high[1]; ++i[1])
      for (i[2] = box.low[2]; i[2] < box.high[2]; ++i[2])
        for (i[3] = box.low[3]; i[3] < box.high[3]; ++i[3]) cells.insert(i);
  return cells;
}

Index plus(Index cell, const Index& offset) {
  for (int d = 0; d < kDims; ++d) cell[d] += offset[d];
  return cell;
}

HaloShape random_shape(std::mt19937_64& random) {
  HaloShape shape;
  shape.dims = test::uniform(random, 1, 4);
  for (int d = 0; d < shape.dims; ++d) {
    shape.ghost_low[d] = test::uniform<std::int64_t>(random, 0, 2);
    shape.ghost_high[d] = test::uniform<std::int64_t>(random, 0, 2);
    shape.extents[d] =
        shape.ghost_low[d] + shape.ghost_high[d] + test::uniform<std::int64_t>(random, 2, 4);
  }
  return shape;
}

Stencil random_stencil(std::mt19937_64& random, const HaloShape& shape) {
  Stencil stencil(test::uniform<std::size_t>(random, 1, 5));
  for (Index& offset : stencil)
    for (int d = 0; d < shape.dims; ++d)
      offset[d] = test::uniform(random, -shape.ghost_low[d], shape.ghost_high[d]);
  return stencil;
}

TEST(HaloGeometry, ReceivesEachGhostCellThatIsReadOnce) {
  auto random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    const HaloShape shape = random_shape(random);
    const Stencil stencil = random_stencil(random, shape);
    const auto geometry = HaloGeometry::create(shape, stencil);
    ASSERT_TRUE(geometry.ok()) << geometry.status().message();
    const std::set<Index> own = cells_of(geometry->owned());
    std::set<Index> received;
    for (const HaloFace& face : geometry->faces())
      for (const Index& cell : cells_of(face.receive)) {
        EXPECT_FALSE(own.count(cell));
        EXPECT_TRUE(received.insert(cell).second) << "received twice";
      }
    for (const Index& cell : own)
      for (const Index& offset : stencil) {
        const Index read = plus(cell, offset);
        EXPECT_TRUE(own.count(read) || received.count(read)) << "a cell that is read is missing";
      }
  }
}

TEST(HaloGeometry, SendsTheCellsThatTheNeighbourHasAsGhosts) {
  auto random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    const HaloShape shape = random_shape(random);
    const auto geometry = HaloGeometry::create(shape, cube(shape.dims, 0));
    ASSERT_TRUE(geometry.ok());
    EXPECT_TRUE(geometry->faces().empty()) << "an update without neighbours needs no messages";
    const auto full = HaloGeometry::create(shape, random_stencil(random, shape));
    ASSERT_TRUE(full.ok());
    for (const HaloFace& face : full->faces()) {
      const auto back = std::find_if(
          full->faces().begin(), full->faces().end(),
          [&](const HaloFace& other) { return other.direction == opposite(face.direction); });
      ASSERT_NE(back, full->faces().end());
      EXPECT_EQ(face.send.cells(), back->receive.cells()) << "one end has no other";
      if (face.send.empty()) continue;
      // The same array, a period further: there, the sent cells are the ghost cells.
      std::set<Index> there;
      for (Index cell : cells_of(face.send)) {
        for (int d = 0; d < kDims; ++d) cell[d] -= face.direction[d] * full->owned().extent(d);
        there.insert(cell);
      }
      Box ghosts = full->owned();
      for (int d = 0; d < kDims; ++d) {
        if (face.direction[d] < 0) {
          ghosts.low[d] = full->owned().high[d];
          ghosts.high[d] = shape.extents[d];
        } else if (face.direction[d] > 0) {
          ghosts.low[d] = 0;
          ghosts.high[d] = full->owned().low[d];
        }
      }
      EXPECT_EQ(there, cells_of(ghosts));
    }
  }
}

TEST(HaloGeometry, InteriorNeitherReadsGhostsNorWritesSentCells) {
  auto random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    const HaloShape shape = random_shape(random);
    const Stencil stencil = random_stencil(random, shape);
    const auto geometry = HaloGeometry::create(shape, stencil);
    ASSERT_TRUE(geometry.ok());
    std::vector<HaloFace> used = geometry->faces();
    std::shuffle(used.begin(), used.end(), random);
    used.resize(test::uniform<std::size_t>(random, 0, used.size()));
    std::set<Index> sent, received;
    for (const HaloFace& face : used) {
      for (const Index& cell : cells_of(face.send)) sent.insert(cell);
      for (const Index& cell : cells_of(face.receive)) received.insert(cell);
    }
    for (const Index& cell : cells_of(geometry->interior(used))) {
      EXPECT_FALSE(sent.count(cell));
      for (const Index& offset : stencil) EXPECT_FALSE(received.count(plus(cell, offset)));
    }
    if (used.empty()) {
      EXPECT_EQ(geometry->interior(used), geometry->owned());
    }
  }
}

TEST(HaloGeometry, InteriorOfAStarIsAllButTheRim) {
  const HaloShape shape{3, {10, 9, 8, 1}, {1, 1, 1, 0}, {1, 1, 1, 0}};
  const auto geometry = HaloGeometry::create(shape, star(3, 1));
  ASSERT_TRUE(geometry.ok());
  EXPECT_EQ(geometry->faces().size(), 6u);
  EXPECT_EQ(geometry->interior(geometry->faces()), (Box{{2, 2, 2, 0}, {8, 7, 6, 1}}));
  EXPECT_EQ(HaloGeometry::create(shape, cube(3, 1))->faces().size(), 26u);
}

TEST(HaloGeometry, RefusesStencilsAndShapesThatDoNotFit) {
  const HaloShape shape{2, {6, 6, 1, 1}, {1, 1, 0, 0}, {1, 1, 0, 0}};
  EXPECT_EQ(HaloGeometry::create(shape, star(2, 2)).status().code(), Code::invalid_argument);
  EXPECT_EQ(HaloGeometry::create(shape, star(3, 1)).status().code(), Code::invalid_argument);
  const HaloShape thin{1, {7, 1, 1, 1}, {3, 0, 0, 0}, {3, 0, 0, 0}};
  EXPECT_EQ(HaloGeometry::create(thin, star(1, 1)).status().code(), Code::invalid_argument);
}

TEST(HaloGeometry, DirectionsHaveDifferentTags) {
  std::set<int> tags;
  const HaloShape shape{4, {4, 4, 4, 4}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  const auto geometry = HaloGeometry::create(shape, cube(4, 1));
  ASSERT_TRUE(geometry.ok());
  for (const HaloFace& face : geometry->faces()) {
    tags.insert(direction_tag(face.direction));
    EXPECT_EQ(opposite(opposite(face.direction)), face.direction);
  }
  EXPECT_EQ(tags.size(), 80u);
}

}  // namespace
}  // namespace ob::overlap
