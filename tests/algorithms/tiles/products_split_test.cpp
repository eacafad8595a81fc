// Tests the cut of calls into parts. tiles_test checks the results of the parts.

#include "algorithms/tiles/products_split.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "algorithms/panels/call.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using algorithms::CallPart;

struct Given {
  const Descriptor& routine;
  Argument arguments[kMaxArguments];

  Given(std::string_view name, std::int64_t rows, std::int64_t cols, std::int64_t depth)
      : routine(*routines::find(name)) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = routine.values[i].front();
      if (routine.kinds[i] == Kind::matrix) arguments[i].host = {nullptr, 1 << 20};
    }
    set("m", rows);
    set("n", cols);
    set("k", depth);
  }
  void set(std::string_view name, std::int64_t value) {
    const std::size_t at = algorithms::argument_position(routine, name);
    if (at < routine.kinds.size()) arguments[at].dim = value;
  }
  std::vector<CallPart> split(const std::vector<double>& weights) const {
    return algorithms::split_call(routine, arguments, weights);
  }
  std::int64_t dim(const CallPart& part, std::string_view name) const {
    return part.arguments.items[algorithms::argument_position(routine, name)].dim;
  }
};

double lines(const Given& call, const std::vector<CallPart>& parts) {
  double all = 0;
  for (const CallPart& part : parts) {
    all += static_cast<double>(call.dim(part, "m") + call.dim(part, "n"));
  }
  return all;
}

TEST(ProductsSplit, AGridSendsLeast) {
  const Given square("dgemm", 4800, 4800, 100);
  const double n = 4800;
  EXPECT_EQ(lines(square, square.split({1, 1})), 3 * n);
  EXPECT_EQ(lines(square, square.split({1, 1, 1, 1})), 4 * n);
  EXPECT_NEAR(lines(square, square.split(std::vector<double>(8, 1.0))), 5.75 * n, 0.02 * n);
  // The longer edge is cut, so all devices receive the shorter factor.
  const Given tall("dgemm", 9000, 100, 100);
  EXPECT_EQ(lines(tall, tall.split({1, 1, 1, 1})), 9000 + 4 * 100);
  const Given wide("dgemm", 100, 9000, 100);
  EXPECT_EQ(lines(wide, wide.split({1, 1, 1, 1})), 9000 + 4 * 100);
}

TEST(ProductsSplit, PartsHaveTheirShareOfTheWork) {
  auto random = fresh_random();
  for (const char* name : {"dgemm", "zsymm", "strmm", "dtrsm"}) {
    for (int round = 0; round < 200; ++round) {
      const Given call(name, uniform(random, 3000, 9000), uniform(random, 3000, 9000), 70);
      std::vector<double> weights(uniform(random, 1U, 8U));
      double all = 0;
      for (double& weight : weights) all += weight = uniform(random, 1, 3);
      const auto parts = call.split(weights);
      ASSERT_EQ(parts.size(), weights.size());
      const double whole = call.routine.flops(call.arguments);
      double sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const double flops = call.routine.flops(parts[i].arguments.items);
        EXPECT_NEAR(flops / whole, weights[i] / all, 0.03) << name;
        sum += flops;
      }
      EXPECT_NEAR(sum / whole, 1, 1e-9);
    }
  }
}

TEST(ProductsSplit, TrianglesAreCutIntoEqualAreas) {
  for (const char* name : {"dsyrk", "cher2k"}) {
    const Given call(name, 0, 5000, 70);
    const auto parts = call.split({1, 1, 1});
    ASSERT_EQ(parts.size(), 3u);
    std::uint64_t next = 0;
    for (const CallPart& part : parts) {
      EXPECT_EQ(part.diagonal.first, next);
      next += part.diagonal.count;
      const double rows = 5000 - static_cast<double>(part.diagonal.first);
      const double below = rows - static_cast<double>(part.diagonal.count);
      EXPECT_NEAR((rows * rows - below * below) / (5000.0 * 5000.0), 1.0 / 3, 0.02);
    }
    EXPECT_EQ(next, 5000u);
  }
}

TEST(ProductsSplit, WhatIsTooSmallGivesFewerParts) {
  EXPECT_EQ(Given("dgemm", 1, 1, 9).split({1, 1, 1}).size(), 1u);
  EXPECT_EQ(Given("dtrsm", 50, 2, 0).split({1, 1, 1, 1}).size(), 2u);
  EXPECT_FALSE(algorithms::can_be_split(*routines::find(std::string_view("dgetrf"))));
  EXPECT_FALSE(algorithms::can_be_split(*routines::find(std::string_view("dgemmt"))));
}

}  // namespace
}  // namespace ob::test
