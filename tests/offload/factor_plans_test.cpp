// Plans are made once per shape, and again when the measured values have changed.

#include "offload/factor_plans.hpp"

#include <gtest/gtest.h>

#include "algorithms/factor/step_model.hpp"

namespace ob::offload {
namespace {

using algorithms::ExchangeModel;
using algorithms::FactorPlan;
using algorithms::FactorShape;

ExchangeModel model_of(std::size_t devices, double flop_per_s, double bytes_per_s) {
  ExchangeModel model;
  model.ranks.assign(devices, {flop_per_s, flop_per_s, 1e-5, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = bytes_per_s;
  return model;
}

bool are_same(const FactorPlan& x, const FactorPlan& y) {
  return x.devices == y.devices && x.block == y.block && x.seconds == y.seconds;
}

TEST(FactorPlans, AreThoseOfTheStepModel) {
  FactorPlans plans;
  for (const auto kind : {FactorShape::Kind::cholesky, FactorShape::Kind::qr}) {
    for (const double rate : {1e11, 1e13}) {
      const FactorShape shape{kind, 2000, 2000};
      const ExchangeModel model = model_of(4, rate, 1e9);
      const FactorPlan made = choose_factor_plan(shape, model);
      EXPECT_TRUE(are_same(plans.choose(shape, model), made));
      EXPECT_TRUE(are_same(plans.choose(shape, model), made));
    }
  }
}

TEST(FactorPlans, StayWhileRatesMoveALittle) {
  FactorPlans plans;
  const FactorShape shape{FactorShape::Kind::qr, 2000, 2000};
  const FactorPlan first = plans.choose(shape, model_of(4, 1e11, 1e10));
  EXPECT_EQ(plans.choose(shape, model_of(4, 1.1e11, 1e10)).seconds, first.seconds);
  EXPECT_EQ(plans.choose(shape, model_of(4, 1e11, 0.9e10)).seconds, first.seconds);
  EXPECT_NE(plans.choose(shape, model_of(4, 2e11, 1e10)).seconds, first.seconds);
  EXPECT_NE(plans.choose(shape, model_of(4, 1e11, 4e10)).seconds, first.seconds);
  EXPECT_NE(plans.choose(shape, model_of(3, 1e11, 1e10)).seconds, first.seconds);
  EXPECT_NE(plans.choose({FactorShape::Kind::lu, 2000, 2000}, model_of(4, 1e11, 1e10)).seconds,
            first.seconds);
  ExchangeModel small = model_of(4, 1e11, 1e10);
  small.ranks[0].memory_bytes = 3 << 20;
  EXPECT_NE(plans.choose(shape, small).seconds, first.seconds);
  ExchangeModel ring = model_of(4, 1e11, 1e10);
  ring.route = algorithms::Route::ring;
  EXPECT_NE(plans.choose(shape, ring).seconds, first.seconds);
  EXPECT_EQ(plans.choose(shape, model_of(4, 1e11, 1e10)).seconds, first.seconds);
}

// If one device takes longer alone than in the model of blocks, several devices are better.
TEST(FactorPlans, OneDeviceTakesWhatItTakesAlone) {
  const FactorShape shape{FactorShape::Kind::cholesky, 4096, 4096};
  const ExchangeModel model = model_of(4, 5e10, 1.2e8);
  const FactorPlan blocks = choose_factor_plan(shape, model);
  ASSERT_EQ(blocks.devices, 1u);
  EXPECT_EQ(choose_factor_plan(shape, model, 0.5 * blocks.seconds).devices, 1u);
  const FactorPlan several = choose_factor_plan(shape, model, 10 * blocks.seconds);
  EXPECT_GT(several.devices, 1u);
  EXPECT_LT(several.seconds, 10 * blocks.seconds);
  FactorPlans plans;
  EXPECT_TRUE(are_same(plans.choose(shape, model, 10 * blocks.seconds), several));
}

TEST(FactorPlans, ManyShapesAreForgotten) {
  FactorPlans plans;
  const ExchangeModel model = model_of(2, 1e12, 1e9);
  for (std::uint64_t n = 100; n < 400; ++n) {
    const FactorShape shape{FactorShape::Kind::cholesky, n, n};
    ASSERT_TRUE(are_same(plans.choose(shape, model), choose_factor_plan(shape, model))) << n;
  }
}

}  // namespace
}  // namespace ob::offload
