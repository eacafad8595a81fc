// The step model against formulas for cases that have one.

#include "algorithms/step_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ob::test {
namespace {

using algorithms::FabricModel;
using algorithms::FactorPlan;
using algorithms::FactorShape;
using algorithms::play_factorization;
using Kind = FactorShape::Kind;

FabricModel model_of(std::size_t devices, double flop_per_s, double bytes_per_s) {
  FabricModel model;
  model.ranks.assign(devices, {flop_per_s, flop_per_s, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = bytes_per_s;
  model.route = algorithms::Route::ring;
  return model;
}

constexpr double kFast = 1e18;  // as good as no time

double flop_of(Kind kind, double n) {
  return n * n * n / 3 * (kind == Kind::cholesky ? 1 : kind == Kind::lu ? 2 : 4);
}

TEST(StepModel, OneDeviceTakesItsOperations) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 4096, 4096};
    const double seconds = play_factorization(shape, model_of(1, 1e12, kFast), {1, 128, 0}).seconds;
    // what panels of reflectors cost beyond the leading terms is n^2 nb
    EXPECT_NEAR(seconds * 1e12, flop_of(kind, 4096), 0.06 * flop_of(kind, 4096));
  }
}

TEST(StepModel, WithFastDevicesOnlyTheLinkOfTheClientCounts) {
  const double n = 4096;
  for (const std::size_t devices : {1, 4}) {
    const FactorShape shape{Kind::qr, 4096, 4096};
    const double seconds =
        play_factorization(shape, model_of(devices, kFast, 1e9), {devices, 64, 0}).seconds;
    // all of it there, and the last of it, which waits for nothing any more, back
    EXPECT_GT(seconds, 8 * n * n / 1e9);
    EXPECT_LT(seconds, 2.5 * 8 * n * n / 1e9);
  }
}

TEST(StepModel, WithFastLinksDevicesShareTheWork) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const FactorShape shape{kind, 8192, 8192};
    const double one = play_factorization(shape, model_of(1, 1e12, kFast), {1, 64, 0}).seconds;
    double before = one;
    for (std::size_t devices = 2; devices <= 8; devices *= 2) {
      const double seconds =
          play_factorization(shape, model_of(devices, 1e12, kFast), {devices, 64, 0}).seconds;
      EXPECT_LT(seconds, before);
      EXPECT_GT(static_cast<double>(devices) * seconds, one);
      EXPECT_GT(one / seconds, 0.85 * static_cast<double>(devices));
      before = seconds;
    }
  }
}

// algorithms 1: each device receives n^2/2 words, less those panels that are its own.
TEST(StepModel, PanelsAreReceivedOnce) {
  const double n = 10240;
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    for (const std::size_t devices : {2, 3, 4, 8}) {
      const auto g = static_cast<double>(devices);
      const FactorShape shape{kind, 10240, 10240};
      const double bytes =
          play_factorization(shape, model_of(devices, 1e12, 1e9), {devices, 128, 0}).received_bytes;
      EXPECT_NEAR(bytes / 8, g * (n * n / 2) * (g - 1) / g, 0.04 * bytes / 8);
    }
  }
}

TEST(StepModel, ThroughTheClientIsNeverFasterThanRound) {
  for (const std::size_t devices : {2, 4, 8}) {
    const FactorShape shape{Kind::qr, 4096, 4096};
    FabricModel model = model_of(devices, 5e12, 1e9);
    const double ring = play_factorization(shape, model, {devices, 128, 0}).seconds;
    model.route = algorithms::Route::relay;
    EXPECT_GE(play_factorization(shape, model, {devices, 128, 0}).seconds, 0.999 * ring);
  }
}

TEST(StepModel, ThePlanIsTheFastestThatFits) {
  for (const double link : {1e8, 1e9, 1e10}) {
    const FactorShape shape{Kind::cholesky, 6000, 6000};
    const FabricModel model = model_of(4, 1e12, link);
    const FactorPlan plan = choose_factor_plan(shape, model, 0);
    ASSERT_GE(plan.devices, 1u);
    for (std::size_t devices = 1; devices <= 4; ++devices) {
      for (const std::uint64_t block : {64, 128, 256, 512}) {
        const double seconds = play_factorization(shape, model, {devices, block, 0}).seconds;
        EXPECT_LE(plan.seconds, 1.04 * seconds) << devices << ' ' << block;
      }
    }
    // a third of the matrix: one device has not the room, all have
    const std::uint64_t memory = 6000ULL * 6000 * 8 / 3;
    const FactorPlan small = choose_factor_plan(shape, model, memory);
    EXPECT_GT(small.devices, 1u);
    EXPECT_LE(factor_memory_bytes(shape, small), static_cast<double>(memory));
    EXPECT_EQ(choose_factor_plan(shape, model, 1 << 20).devices, 0u);
  }
}

}  // namespace
}  // namespace ob::test
