// Compares the step model with formulas, for the cases that have one.

#include "algorithms/factor/step_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ob::test {
namespace {

using algorithms::ExchangeModel;
using algorithms::FactorPlan;
using algorithms::FactorShape;
using algorithms::simulate_factorization;
using Kind = FactorShape::Kind;

ExchangeModel model_of(std::size_t devices, double flop_per_s, double bytes_per_s) {
  ExchangeModel model;
  model.ranks.assign(devices, {flop_per_s, flop_per_s, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = bytes_per_s;
  model.route = algorithms::Route::ring;
  return model;
}

constexpr double kFast = 1e18;  // a rate that takes almost no time

double flop_of(Kind kind, double n) {
  return n * n * n / 3 * (kind == Kind::cholesky ? 1 : kind == Kind::lu ? 2 : 4);
}

TEST(StepModel, OneDeviceTakesItsOperations) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 4096, 4096};
    const double seconds =
        simulate_factorization(shape, model_of(1, 1e12, kFast), {1, 128, 0}).seconds;
    // panels of reflectors cost n^2 nb in addition to the leading terms
    EXPECT_NEAR(seconds * 1e12, flop_of(kind, 4096), 0.06 * flop_of(kind, 4096));
  }
}

TEST(StepModel, WithFastDevicesOnlyTheLinkOfTheClientCounts) {
  const double n = 4096;
  for (const std::size_t devices : {1, 4}) {
    const FactorShape shape{Kind::qr, 4096, 4096};
    const double seconds =
        simulate_factorization(shape, model_of(devices, kFast, 1e9), {devices, 64, 0}).seconds;
    // the time to send the matrix, and to return the last panels, which wait for no computation
    EXPECT_GT(seconds, 8 * n * n / 1e9);
    EXPECT_LT(seconds, 2.5 * 8 * n * n / 1e9);
  }
}

TEST(StepModel, WithFastLinksDevicesShareTheWork) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 8192, 8192};
    const double one = simulate_factorization(shape, model_of(1, 1e12, kFast), {1, 64, 0}).seconds;
    double before = one;
    for (std::size_t devices = 2; devices <= 8; devices *= 2) {
      const double seconds =
          simulate_factorization(shape, model_of(devices, 1e12, kFast), {devices, 64, 0}).seconds;
      EXPECT_LT(seconds, before);
      EXPECT_GT(static_cast<double>(devices) * seconds, one);
      EXPECT_GT(one / seconds, 0.85 * static_cast<double>(devices));
      before = seconds;
    }
  }
}

// algorithms 1: each device receives n^2/2 words without its own panels.
TEST(StepModel, PanelsAreReceivedOnce) {
  const double n = 10240;
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    for (const std::size_t devices : {2, 3, 4, 8}) {
      const auto g = static_cast<double>(devices);
      const FactorShape shape{kind, 10240, 10240};
      const double bytes =
          simulate_factorization(shape, model_of(devices, 1e12, 1e9), {devices, 128, 0})
              .received_bytes;
      EXPECT_NEAR(bytes / 8, g * (n * n / 2) * (g - 1) / g, 0.04 * bytes / 8);
    }
  }
}

TEST(StepModel, ThroughTheClientIsNeverFasterThanRound) {
  for (const std::size_t devices : {2, 4, 8}) {
    const FactorShape shape{Kind::qr, 4096, 4096};
    ExchangeModel model = model_of(devices, 5e12, 1e9);
    const double ring = simulate_factorization(shape, model, {devices, 128, 0}).seconds;
    model.route = algorithms::Route::relay;
    EXPECT_GE(simulate_factorization(shape, model, {devices, 128, 0}).seconds, 0.999 * ring);
  }
}

TEST(StepModel, ThePlanIsTheFastestThatFits) {
  for (const double link : {1e8, 1e9, 1e10}) {
    const FactorShape shape{Kind::cholesky, 6000, 6000};
    const ExchangeModel model = model_of(4, 1e12, link);
    const FactorPlan plan = choose_factor_plan(shape, model);
    ASSERT_GE(plan.devices, 1u);
    for (std::size_t devices = 1; devices <= 4; ++devices) {
      for (const std::uint64_t block : {64, 128, 256, 512}) {
        const double seconds = simulate_factorization(shape, model, {devices, block, 0}).seconds;
        EXPECT_LE(plan.seconds, 1.04 * seconds) << devices << ' ' << block;
      }
    }
    // memory for a third of the matrix: a single device needs slabs
    ExchangeModel little = model;
    for (algorithms::RankModel& rank : little.ranks) rank.memory_bytes = 6000ULL * 6000 * 8 / 3;
    const FactorPlan small = choose_factor_plan(shape, little);
    EXPECT_GT(small.devices, 1u);
    EXPECT_LE(factor_memory_bytes(shape, small), 6000.0 * 6000 * 8 / 3);
    for (algorithms::RankModel& rank : little.ranks) rank.memory_bytes = 1 << 20;
    EXPECT_EQ(choose_factor_plan(shape, little).devices, 0u);
  }
}

TEST(StepModel, DevicesOfDifferentRatesGetPartsByTheirRates) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 8192, 8192};
    ExchangeModel model = model_of(3, 1e12, kFast);
    model.ranks[0] = {3e12, 3e12, 0};
    const double equal = simulate_factorization(shape, model, {3, 64, 0, false}).seconds;
    const double by_rate = simulate_factorization(shape, model, {3, 64, 0, true}).seconds;
    // three devices do the work of five slow ones: the fast one does not wait for the slow ones
    EXPECT_LT(by_rate, 0.7 * equal);
    EXPECT_NEAR(by_rate * 5e12, flop_of(kind, 8192), 0.25 * flop_of(kind, 8192));
    const FactorPlan plan = choose_block(shape, model, 3);
    EXPECT_TRUE(plan.by_rate);
    EXPECT_LE(plan.seconds, by_rate);
  }
}

TEST(StepModel, DevicesOfOneRateTakeTurns) {
  const FactorShape shape{Kind::lu, 4096, 4096};
  const ExchangeModel model = model_of(4, 1e12, 1e9);
  EXPECT_EQ(simulate_factorization(shape, model, {4, 128, 0, true}).seconds,
            simulate_factorization(shape, model, {4, 128, 0, false}).seconds);
  EXPECT_FALSE(choose_factor_plan(shape, model).by_rate);
}

// algorithms 1: each device receives n^3 / (3 w) elements with slabs of w columns.
TEST(StepModel, WithoutRoomPanelsComeBack) {
  const double n = 8192;
  for (const std::size_t devices : {1, 4}) {
    ExchangeModel model = model_of(devices, 1e12, 1e9);
    const auto g = static_cast<double>(devices);
    for (const double part : {1.0 / 8, 1.0 / 16}) {
      const double columns = part * n / g + 2 * 32;
      for (auto& rank : model.ranks) {
        rank.memory_bytes = static_cast<std::uint64_t>(8 * n * columns + (1 << 20));
      }
      const FactorShape shape{Kind::lu, 8192, 8192};
      const FactorPlan plan{devices, 32, 0};
      const auto played = simulate_factorization(shape, model, plan);
      EXPECT_NEAR(played.reloaded_bytes / 8, g * n * n / (3 * part), 0.2 * g * n * n / (3 * part));
      EXPECT_GT(played.seconds, (8 * n * n + played.reloaded_bytes) / 1e9);
      for (auto& rank : model.ranks) rank.memory_bytes = 0;
      EXPECT_GT(played.seconds, simulate_factorization(shape, model, plan).seconds);
      EXPECT_EQ(simulate_factorization(shape, model, plan).reloaded_bytes, 0);
    }
  }
}

TEST(StepModel, OnFastLinksSlabsCostLittle) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 8192, 8192};
    ExchangeModel model = model_of(1, 1e12, 1e12);
    const double at_once = simulate_factorization(shape, model, {1, 64, 0}).seconds;
    model.ranks[0].memory_bytes = 8192ULL * 8192 * 8 / 4;
    const double in_slabs = simulate_factorization(shape, model, {1, 64, 0}).seconds;
    EXPECT_GT(in_slabs, at_once);
    EXPECT_LT(in_slabs, 1.1 * at_once);
  }
}

}  // namespace
}  // namespace ob::test
