#include "device/permute/streamed_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "device/permute/copy_plan.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr double kPoison = 1234.5;

// A copy between two areas with gaps, which begin anywhere in a cache line.
struct Problem {
  std::vector<std::int64_t> extents;
  std::array<std::vector<std::int64_t>, 2> strides;  // of D and B
  std::array<std::size_t, 2> offset{}, size{};
  double alpha = 1;

  static Problem draw(std::mt19937_64& random, std::int64_t most_elements) {
    Problem made;
    std::int64_t room = most_elements;
    const auto rank = uniform<std::size_t>(random, 1, 6);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t most = i + 1 == rank ? room : std::min<std::int64_t>(room, 70);
      made.extents.push_back(uniform<std::int64_t>(random, 1, std::max<std::int64_t>(1, most)));
      room /= made.extents.back();
    }
    std::shuffle(made.extents.begin(), made.extents.end(), random);
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<std::size_t> order(rank);
      std::iota(order.begin(), order.end(), std::size_t{0});
      if (uniform(random, 0, 3) != 0) std::shuffle(order.begin(), order.end(), random);
      made.strides[side].resize(rank);
      std::int64_t stride = 1;
      for (const std::size_t axis : order) {
        made.strides[side][axis] = stride;
        stride = stride * made.extents[axis];
        if (uniform(random, 0, 3) == 0) stride += uniform<std::int64_t>(random, 1, 3);
      }
      made.offset[side] = uniform<std::size_t>(random, 0, 15);
      made.size[side] = made.offset[side] + static_cast<std::size_t>(stride) + 16;
    }
    if (uniform(random, 0, 1) == 0) made.alpha = -2;
    return made;
  }

  Axes<2> axes() const {
    Axes<2> made;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      made.insert({extents[i], {strides[0][i], strides[1][i]}});
    }
    return made;
  }

  // Sets `d` by loops over indices.
  void expect(std::vector<double>& d, const std::vector<double>& b) const {
    std::vector<std::int64_t> index(extents.size());
    while (true) {
      std::int64_t to = 0, from = 0;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        to += index[i] * strides[0][i];
        from += index[i] * strides[1][i];
      }
      d[offset[0] + static_cast<std::size_t>(to)] =
          alpha * b[offset[1] + static_cast<std::size_t>(from)];
      std::size_t i = 0;
      for (; i < extents.size() && ++index[i] == extents[i]; ++i) index[i] = 0;
      if (i == extents.size()) return;
    }
  }

  template <class Copy>
  void check(std::mt19937_64& random, const Copy& copy) const {
    std::vector<double> b(size[1]);
    for (double& element : b) element = uniform(random, -999, 999);
    std::vector<double> d(size[0], kPoison), expected = d;
    expect(expected, b);
    copy(d.data() + offset[0], b.data() + offset[1]);
    std::string text = "extents";
    for (const std::int64_t extent : extents) text += " " + std::to_string(extent);
    ASSERT_TRUE(d == expected) << text;
  }
};

// Returns the position of the axis that has the stride 1 on a side, or the rank.
unsigned unit(const Axes<2>& axes, std::size_t side) {
  unsigned at = 0;
  while (at < axes.rank && axes.axis[at].strides[side] != 1) ++at;
  return at;
}

// Small copies have few boxes, so this test calls the class itself.
TEST(StreamedCopy, AgreesWithLoopsOverIndices) {
  auto random = fresh_random();
  int checked = 0;
  for (int round = 0; round < 600 && !HasFatalFailure(); ++round) {
    const Problem given = Problem::draw(random, round % 10 == 0 ? 200000 : 20000);
    Axes<2> axes = given.axes();
    axes.fuse();
    const unsigned unit_b = unit(axes, 1);
    if (axes.rank == 0 || axes.axis[0].strides[0] != 1 || unit_b == axes.rank) continue;
    const Axis<2> row = axes.axis[0];
    Axis<2> column;
    axes.remove(0);
    if (unit_b > 0) {
      column = axes.axis[unit_b - 1];
      axes.remove(unit_b - 1);
    }
    given.check(random, [&](double* d, const double* b) {
      StreamedCopy(row, column, axes, given.alpha).run(d, b);
    });
    ++checked;
  }
  EXPECT_GT(checked, 200);
}

// A plan chooses by itself how it copies.
TEST(StreamedCopy, PlansOfLargeCopiesAgreeWithLoopsOverIndices) {
  auto random = fresh_random();
  for (int round = 0; round < 30 && !HasFatalFailure(); ++round) {
    const Problem given = Problem::draw(random, 600000);
    const CopyPlan plan(given.axes());
    given.check(random, [&](double* d, const double* b) { plan.run(d, b, given.alpha, false); });
  }
}

TEST(StreamedCopy, ScalesALargeBlockInPlace) {
  Axes<2> axes;
  axes.insert({500, {1, 1}});
  axes.insert({400, {501, 501}});
  std::vector<double> block(501 * 400, 3);
  const CopyPlan plan(axes);
  ASSERT_TRUE(plan.in_place());
  plan.run(block.data(), block.data(), 2, false);
  for (std::size_t i = 0; i < block.size(); ++i) ASSERT_EQ(block[i], i % 501 < 500 ? 6 : 3);
}

}  // namespace
}  // namespace ob::test
