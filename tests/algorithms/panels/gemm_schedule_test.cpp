// Tests the orders of a product: they are complete, causal, and as fast as the formulas.

#include "algorithms/panels/gemm_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "support/random.hpp"

namespace ob::algorithms {
namespace {

using Kind = ProductStep::Kind;

// Checks that every element of C gets every term of its sum once, from blocks sent before.
void expect_complete(const ProductSchedule& schedule, const ProductShape& shape) {
  std::set<unsigned> a_sent;
  std::set<unsigned> b_sent;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> terms;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> fetched;
  const auto each = [](const Block& c, auto visit) {
    for (std::uint64_t j = c.col; j < c.col + c.cols; ++j) {
      for (std::uint64_t i = c.row; i < c.row + c.rows; ++i) visit(std::pair(i, j));
    }
  };
  for (const ProductStep& step : schedule.steps) {
    switch (step.kind) {
      case Kind::send_a: EXPECT_TRUE(a_sent.insert(step.a).second); break;
      case Kind::send_b: EXPECT_TRUE(b_sent.insert(step.b).second); break;
      case Kind::multiply: {
        ASSERT_TRUE(a_sent.contains(step.a) && b_sent.contains(step.b));
        const Block& a = schedule.a[step.a];
        const Block& b = schedule.b[step.b];
        EXPECT_EQ(std::pair(a.col, a.cols), std::pair(b.row, b.rows));
        EXPECT_GE(step.c.row, a.row);
        EXPECT_LE(step.c.row + step.c.rows, a.row + a.rows);
        EXPECT_EQ(std::pair(step.c.col, step.c.cols), std::pair(b.col, b.cols));
        each(step.c, [&](auto at) {
          EXPECT_EQ(terms[at] > 0, step.adds);
          EXPECT_EQ(terms[at], a.col);  // each part of the sum is added once
          terms[at] += a.cols;
        });
        break;
      }
      case Kind::fetch:
        each(step.c, [&](auto at) {
          EXPECT_EQ(terms[at], shape.k);
          EXPECT_EQ(++fetched[at], 1);
        });
        break;
    }
  }
  EXPECT_EQ(fetched.size(), shape.m * shape.n);
}

TEST(GemmSchedule, EveryOrderIsCompleteAndCausal) {
  auto random = test::fresh_random();
  for (int round = 0; round < 300; ++round) {
    ProductShape shape;
    shape.m = test::uniform<std::uint64_t>(random, 1, 20);
    shape.n = test::uniform<std::uint64_t>(random, 1, 20);
    shape.k = test::uniform<std::uint64_t>(random, 1, 20);
    for (const ProductOrder order : kProductOrders) {
      const double share = 0.1 * test::uniform(random, 0, 9);
      expect_complete(schedule_product(shape, order, test::uniform(random, 1U, 9U), share), shape);
    }
  }
}

// A square product. Its work takes W = 2 n^3 / R. The time to send A and B divided by the time to
// compute is rho = 16 n^2 / (beta W).
struct Square {
  std::uint64_t n = 4096;
  double rho;
  double work_s = 10;

  ProductShape shape() const { return {n, n, n}; }
  PipelineModel model(double back = 1e30) const {
    const auto order = static_cast<double>(n);
    PipelineModel model;
    model.flop_per_s = 2 * order * order * order / work_s;
    model.to_bytes_per_s = 16 * order * order / (rho * work_s);
    model.from_bytes_per_s = back;
    return model;
  }
  double seconds(ProductOrder order, unsigned parts) const {
    return predict(schedule_product(shape(), order, parts), shape(), model()) / work_s;
  }
};

TEST(GemmSchedule, AlternatingTakesWhatTheFormulaSays) {
  for (const unsigned s : {4U, 8U, 16U}) {
    // s <= 1 / rho: the device waits only for the first two panels
    const Square fast{.rho = 0.5 / s};
    EXPECT_NEAR(fast.seconds(ProductOrder::alternating, s), 1 + fast.rho / s, 1e-9);
    // rho up to 2 - 1/s: W (1 + rho/(2s) + rho^2/4), up to the granularity of whole tiles
    for (const double rho : {0.5, 0.8, 1.2}) {
      const Square square{.rho = rho};
      const double formula = 1 + rho / (2 * s) + rho * rho / 4;
      EXPECT_NEAR(square.seconds(ProductOrder::alternating, s), formula, 1.5 / (s * s) + 0.01)
          << rho;
    }
    const Square slow{.rho = 3};
    // After the last panel of B, s tiles of W / s^2 each remain.
    EXPECT_NEAR(slow.seconds(ProductOrder::alternating, s), slow.rho + 1.0 / s, 1e-9);
  }
}

TEST(GemmSchedule, OtherOrdersTakeWhatTheirFormulasSay) {
  for (const unsigned s : {4U, 8U, 16U}) {
    const Square square{.rho = 0.5};
    EXPECT_NEAR(square.seconds(ProductOrder::whole, s), 1 + square.rho, 1e-9);
    EXPECT_NEAR(square.seconds(ProductOrder::b_first, s), 1 + square.rho * (s + 1) / (2 * s), 1e-9);
    EXPECT_NEAR(square.seconds(ProductOrder::hybrid, s), 1 + square.rho / s, 1e-9);
  }
}

TEST(GemmSchedule, TheWayBackIsHidden) {
  const Square square{.rho = 0.4};
  const ProductShape shape = square.shape();
  PipelineModel model = square.model();
  model.from_bytes_per_s = model.to_bytes_per_s;
  const auto seconds = [&](ProductOrder order, double last_share = 0) {
    return predict(schedule_product(shape, order, 8, last_share), shape, model) / square.work_s;
  };
  // Only the return of the last tile, or of the last row panel, is not hidden, if the products of
  // the last panel leave time for the rest.
  EXPECT_NEAR(seconds(ProductOrder::hybrid, 0.3), 1 + 0.4 * 0.7 / 7 + 0.2 / 8, 1e-3);
  EXPECT_NEAR(seconds(ProductOrder::hybrid), 1 + 0.4 / 8 - 1.0 / 8 + 1.0 / 64 + 0.2, 1e-9);
  EXPECT_LT(seconds(ProductOrder::alternating),
            square.seconds(ProductOrder::alternating, 8) + 0.2 / 64 + 1e-9);
}

TEST(GemmSchedule, TheChosenOneIsHardlyWorseThanAnyOther) {
  auto random = test::fresh_random();
  for (int round = 0; round < 30; ++round) {
    Square square;
    square.rho = std::exp(std::uniform_real_distribution<double>(-3.0, 1.5)(random));
    square.n = test::uniform<std::uint64_t>(random, 100, 8000);
    const ProductShape shape = square.shape();
    PipelineModel model = square.model(std::uniform_real_distribution<double>(1e7, 1e10)(random));
    model.call_s = 20e-6;
    model.message_s = kMessageSeconds;
    model.fetch_s = kFetchSeconds;
    model.submit_s = kSubmitSeconds;
    const double chosen = predict(choose_schedule(shape, model), shape, model);
    for (const ProductOrder order : kProductOrders) {
      for (const unsigned parts : {1U, 4U, 8U}) {
        if (parts > 1 && square.n / parts < 128) continue;
        EXPECT_LE(chosen * 0.95, predict(schedule_product(shape, order, parts), shape, model));
      }
    }
  }
}

}  // namespace
}  // namespace ob::algorithms
