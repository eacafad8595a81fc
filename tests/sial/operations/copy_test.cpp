#include "sial/operations/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sial/operations/blocks.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr Assign kAssigns[] = {Assign::set, Assign::add, Assign::subtract};

double expected(Assign assign, double old, double value) {
  if (assign == Assign::set) return value;
  return assign == Assign::add ? old + value : old - value;
}

void expect_near(double got, double want, double old, double value) {
  ASSERT_NEAR(got, want, 2 * kEps * (std::fabs(old) + std::fabs(value)));
}

// Rank 1 to 8, extents 1 to 7 with at most 100,000 elements.
void run_random_copy(std::mt19937_64& random, Scratch& scratch) {
  Labels labels;
  Extents extents;
  std::int64_t elements = 0;
  do {
    labels = some_labels(0, uniform<std::size_t>(random, 1, kMaxRank));
    extents = draw_extents(random, labels, 7);
    elements = 1;
    for (const auto& [label, extent] : extents) elements *= extent;
  } while (elements > 100000);
  Labels of_d = shuffled(random, labels);
  Labels of_b = shuffled(random, labels);
  add_simple(random, of_d, 2, kFirstSimple);
  add_simple(random, of_b, 2, kFirstSimple + 1);
  Block d(random, of_d, extents);
  Block b(random, of_b, extents);
  const Assign assign = kAssigns[uniform(random, 0, 2)];
  const double s = uniform(random, 0, 1) == 0 ? 1 : 1.75;
  if (assign == Assign::set) {
    for_all(labels, extents,
            [&](const Position& at) { d.at(at) = std::numeric_limits<double>::quiet_NaN(); });
    d.save();
  }
  ASSERT_TRUE(copy(d.view(), b.read(), s, assign, scratch).ok());
  for_all(labels, extents, [&](const Position& at) {
    const double value = s * b.before(at);
    if (assign == Assign::set) {
      ASSERT_EQ(d.at(at), value);
    } else {
      expect_near(d.at(at), expected(assign, d.before(at), value), d.before(at), value);
    }
  });
  EXPECT_TRUE(d.intact_around());
  EXPECT_TRUE(b.intact());
}

TEST(Copy, PermutesByLabels) {
  auto random = fresh_random();
  Scratch scratch;
  for (int i = 0; i < 600 && !HasFatalFailure(); ++i) run_random_copy(random, scratch);
}

// Extents beyond a tile of the kernel, with all 24 orders of rank 4.
TEST(Copy, PermutesLargeBlocks) {
  auto random = fresh_random();
  Scratch scratch;
  Labels order = some_labels(0, 4);
  const Extents extents = {{0, 37}, {1, 3}, {2, 34}, {3, 5}};
  Block b(random, {0, 1, 2, 3}, extents);
  do {
    Block d(random, order, extents);
    ASSERT_TRUE(copy(d.view(), b.read(), Assign::set, scratch).ok());
    for_all(order, extents, [&](const Position& at) { ASSERT_EQ(d.at(at), b.before(at)); });
    EXPECT_TRUE(d.intact_around());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Copy, TransposesABlockInPlace) {
  auto random = fresh_random();
  Scratch scratch;
  for (const Assign assign : kAssigns) {
    const std::int64_t n = uniform<std::int64_t>(random, 2, 50);
    const Extents extents = {{0, n}, {1, n}};
    Block block(random, {0, 1}, extents);
    ConstView transposed = block.read();
    transposed.labels = {1, 0};
    ASSERT_TRUE(copy(block.view(), transposed, assign, scratch).ok());
    for_all({0, 1}, extents, [&](const Position& at) {
      const double value = block.before({{0, at.at(1)}, {1, at.at(0)}});
      ASSERT_EQ(block.at(at), expected(assign, block.before(at), value));
    });
    EXPECT_TRUE(block.intact_around());
  }
}

TEST(Copy, ScalesABlockInPlaceWithoutScratch) {
  auto random = fresh_random();
  Scratch scratch;
  const Extents extents = {{0, 5}, {1, 6}};
  Block block(random, {0, 1}, extents);
  ASSERT_TRUE(copy(block.view(), block.read(), 3, Assign::set, scratch).ok());
  for_all({0, 1}, extents,
          [&](const Position& at) { ASSERT_EQ(block.at(at), 3 * block.before(at)); });
  EXPECT_EQ(scratch.bytes(), 0);
}

TEST(Copy, ReadsAPartBeforeAnOverlappingPartChanges) {
  auto random = fresh_random();
  Scratch scratch;
  Block whole(random, {0}, {{0, 40}});
  View to = whole.view();
  to.extents[0] = 30;
  ConstView from = whole.read();
  from.extents[0] = 30;
  to.data += 4;
  ASSERT_TRUE(copy(to, from, Assign::set, scratch).ok());
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t source = i >= 4 && i < 34 ? i - 4 : i;
    ASSERT_EQ(whole.at({{0, i}}), whole.before({{0, source}}));
  }
}

TEST(Copy, MatchesRepeatedLabelsByPosition) {
  auto random = fresh_random();
  Scratch scratch;
  // The block d[i,i] is a whole square, not its diagonal.
  const Extents extents = {{0, 4}, {1, 4}};
  Block d(random, {0, 1}, extents);
  Block b(random, {0, 1}, extents);
  View as_d = d.view();
  as_d.labels = {0, 0};
  ConstView as_b = b.read();
  as_b.labels = {0, 0};
  ASSERT_TRUE(copy(as_d, as_b, Assign::set, scratch).ok());
  for_all({0, 1}, extents, [&](const Position& at) { ASSERT_EQ(d.at(at), b.before(at)); });
}

}  // namespace
}  // namespace ob::sial::test
