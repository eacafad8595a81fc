#include "sial/operations/elements.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sial/operations/axes.hpp"
#include "sial/operations/blocks.hpp"
#include "support/random.hpp"

namespace ob::sial::test {
namespace {

using ob::test::fresh_random;
using ob::test::uniform;

constexpr double kEps = std::numeric_limits<double>::epsilon();

Extents small_extents(std::mt19937_64& random, const Labels& labels) {
  return draw_extents(random, labels, labels.size() > 5 ? 3 : 7);
}

TEST(Elements, FillChangesTheBlockAlone) {
  auto random = fresh_random();
  for (int i = 0; i < 200; ++i) {
    const Labels labels = some_labels(0, uniform<std::size_t>(random, 0, kMaxRank));
    const Extents extents = small_extents(random, labels);
    const auto assign = static_cast<Assign>(uniform(random, 0, 3));
    Block d(random, labels, extents);
    if (assign == Assign::set) d.at({}) = std::numeric_limits<double>::quiet_NaN();
    fill(d.view(), 2.5, assign);
    for_all(labels, extents, [&](const Position& at) {
      const double old = d.before(at);
      const double want = assign == Assign::set        ? 2.5
                          : assign == Assign::add      ? old + 2.5
                          : assign == Assign::subtract ? old - 2.5
                                                       : old * 2.5;
      ASSERT_EQ(d.at(at), want);
    });
    ASSERT_TRUE(d.intact_around());
  }
}

enum class Operation { add, subtract, multiply };

double apply(Operation operation, double x, double y) {
  return operation == Operation::add ? x + y : operation == Operation::subtract ? x - y : x * y;
}

Status run(Operation operation, const View& d, const ConstView& b1, const ConstView& b2,
           Scratch& scratch) {
  if (operation == Operation::add) return add(d, b1, b2, scratch);
  if (operation == Operation::subtract) return subtract(d, b1, b2, scratch);
  return multiply_elements(d, b1, b2, scratch);
}

TEST(Elements, CombinesElementByElement) {
  auto random = fresh_random();
  Scratch scratch;
  for (int i = 0; i < 200; ++i) {
    const Labels labels = some_labels(0, uniform<std::size_t>(random, 0, kMaxRank));
    const Extents extents = small_extents(random, labels);
    Labels of_d = labels;
    add_simple(random, of_d, 2, kFirstSimple);
    Block d(random, of_d, extents);
    Block b1(random, labels, extents);
    Block b2(random, labels, extents);
    const auto operation = static_cast<Operation>(uniform(random, 0, 2));
    ASSERT_TRUE(run(operation, d.view(), b1.read(), b2.read(), scratch).ok());
    for_all(labels, extents, [&](const Position& at) {
      ASSERT_EQ(d.at(at), apply(operation, b1.before(at), b2.before(at)));
    });
    ASSERT_TRUE(d.intact_around());
    ASSERT_TRUE(b1.intact() && b2.intact());
  }
}

TEST(Elements, CombinesABlockWithItself) {
  auto random = fresh_random();
  Scratch scratch;
  const Extents extents = {{0, 9}, {1, 5}};
  Block d(random, {0, 1}, extents);
  ASSERT_TRUE(add(d.view(), d.read(), d.read(), scratch).ok());
  for_all({0, 1}, extents, [&](const Position& at) { ASSERT_EQ(d.at(at), 2 * d.before(at)); });
  EXPECT_EQ(scratch.bytes(), 0);
}

TEST(Elements, ReadsAShiftedOperandBeforeTheResultChanges) {
  auto random = fresh_random();
  Scratch scratch;
  Block whole(random, {0}, {{0, 30}});
  View d = whole.view();
  ConstView b = whole.read();
  d.extents[0] = b.extents[0] = 29;
  d.data += 1;
  ASSERT_TRUE(add(d, b, read_only(d), scratch).ok());
  for (std::int64_t i = 1; i < 30; ++i) {
    ASSERT_EQ(whole.at({{0, i}}), whole.before({{0, i - 1}}) + whole.before({{0, i}}));
  }
}

TEST(Elements, OuterProductInAnyOrder) {
  auto random = fresh_random();
  Scratch scratch;
  for (int i = 0; i < 300; ++i) {
    const auto first = uniform<std::size_t>(random, 0, 4);
    const Labels of_b1 = some_labels(0, first);
    const Labels of_b2 = some_labels(10, uniform<std::size_t>(random, 0, kMaxRank - first));
    const Labels all = of_b1 + of_b2;
    const Extents extents = small_extents(random, all);
    Block d(random, shuffled(random, all), extents);
    Block b1(random, shuffled(random, of_b1), extents);
    Block b2(random, shuffled(random, of_b2), extents);
    const auto assign = static_cast<Assign>(uniform(random, 0, 2));
    ASSERT_TRUE(outer(d.view(), b1.read(), b2.read(), assign, scratch).ok());
    for_all(all, extents, [&](const Position& at) {
      const double product = b1.before(at) * b2.before(at);
      const double old = assign == Assign::set ? 0 : d.before(at);
      const double want = assign == Assign::subtract ? old - product : old + product;
      ASSERT_NEAR(d.at(at), want, 2 * kEps * (std::fabs(old) + std::fabs(product)));
    });
    ASSERT_TRUE(d.intact_around());
    ASSERT_TRUE(b1.intact() && b2.intact());
  }
}

TEST(Elements, OuterProductReadsItsOperandFirst) {
  auto random = fresh_random();
  Scratch scratch;
  // D[i,j] = B1[i] ^ B2[j] where B1 is the first column of D.
  Block d(random, {0, 1}, {{0, 6}, {1, 7}});
  Block b2(random, {1}, {{1, 7}});
  ConstView column = d.read();
  column.rank = 1;
  ASSERT_TRUE(outer(d.view(), column, b2.read(), Assign::set, scratch).ok());
  for_all({0, 1}, {{0, 6}, {1, 7}}, [&](const Position& at) {
    ASSERT_EQ(d.at(at), d.before({{0, at.at(0)}}) * b2.before(at));
  });
}

TEST(Elements, InnerProductInAnyOrder) {
  auto random = fresh_random();
  for (int i = 0; i < 300; ++i) {
    const Labels labels = some_labels(0, uniform<std::size_t>(random, 0, kMaxRank));
    const Extents extents = small_extents(random, labels);
    Block b1(random, shuffled(random, labels), extents);
    Block b2(random, shuffled(random, labels), extents);
    long double sum = 0;
    long double size = 0;
    std::int64_t terms = 0;
    for_all(labels, extents, [&](const Position& at) {
      const long double product = static_cast<long double>(b1.before(at)) * b2.before(at);
      sum += product;
      size += std::fabs(product);
      ++terms;
    });
    ASSERT_NEAR(inner_product(b1.read(), b2.read()), static_cast<double>(sum),
                kEps * static_cast<double>(size) * static_cast<double>(2 * terms + 4));
  }
}

}  // namespace
}  // namespace ob::sial::test
