#include "daemon/session/plan_cache.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "backend/null/backend.hpp"
#include "support/random.hpp"

namespace ob::daemon {
namespace {

class PlanCacheTest : public testing::Test {
 protected:
  static FftPlan line(std::uint64_t n) {
    FftPlan plan{.rank = 1};
    plan.n[0] = n;
    return plan;
  }
  PlanId use_once(PlanCache& cache, const FftPlan& plan) {
    auto made = cache.plan_for(plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return (*made)->local();
  }
  // Returns true if the device still has the plan. Destroys the plan.
  bool alive(PlanId local) { return device->destroy_plan(local).ok(); }

  std::unique_ptr<Device> device = null::create({.memory_bytes = 1 << 20}).value();
};

TEST_F(PlanCacheTest, EqualTransformsShareOnePlan) {
  PlanCache cache(*device);
  auto first = cache.plan_for(line(64));
  auto second = cache.plan_for(line(64));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->local(), (*second)->local());
  const PlanId local = (*first)->local();
  first->reset();
  second->reset();
  EXPECT_EQ(use_once(cache, line(64)), local);
  EXPECT_EQ(cache.counts().made, 1u);
  EXPECT_EQ(cache.counts().hits, 2u);
  EXPECT_EQ(cache.counts().idle, 1u);
}

TEST_F(PlanCacheTest, FieldsThatMatterMakeAPlan) {
  PlanCache cache(*device);
  std::vector<FftPlan> different;
  different.push_back(line(64));
  different.push_back(line(65));
  for (auto change : std::initializer_list<void (*)(FftPlan&)>{
           [](FftPlan& p) { p.sign = +1; }, [](FftPlan& p) { p.batch = 2; },
           [](FftPlan& p) { p.in_place = false; }, [](FftPlan& p) { p.precision = Precision::c; },
           [](FftPlan& p) { p.kind = FftKind::r2c; }, [](FftPlan& p) { p.kind = FftKind::c2r; },
           [](FftPlan& p) { p.kind = FftKind::r2r; },
           [](FftPlan& p) {
             p.kind = FftKind::r2r;
             p.real[0] = RealTransform::dht;
           },
           [](FftPlan& p) {
             p.rank = 2;
             p.n[1] = 1;
           }}) {
    different.push_back(line(64));
    change(different.back());
  }
  for (const FftPlan& plan : different) use_once(cache, plan);
  EXPECT_EQ(cache.counts().made, different.size());
  EXPECT_EQ(cache.counts().hits, 0u);
}

TEST_F(PlanCacheTest, FieldsThatDoNotMatterMakeNone) {
  PlanCache cache(*device);
  FftPlan plan = line(64);
  plan.kind = FftKind::r2c;
  use_once(cache, plan);
  plan.sign = +1;
  plan.n[3] = 17;
  plan.real[0] = RealTransform::dht;
  use_once(cache, plan);
  EXPECT_EQ(cache.counts().made, 1u);
}

TEST_F(PlanCacheTest, TheLeastRecentlyUsedGoFirst) {
  PlanCache cache(*device, {.idle_plans = 2});
  const PlanId a = use_once(cache, line(8));
  const PlanId b = use_once(cache, line(9));
  EXPECT_EQ(use_once(cache, line(8)), a);
  const PlanId c = use_once(cache, line(10));
  EXPECT_EQ(cache.counts().idle, 2u);
  EXPECT_FALSE(alive(b));
  EXPECT_EQ(use_once(cache, line(8)), a);
  EXPECT_EQ(use_once(cache, line(10)), c);
}

TEST_F(PlanCacheTest, IdlePlansTakeBoundedMemory) {
  constexpr std::uint64_t kLimit = 4096;
  PlanCache cache(*device, {.idle_plans = 100, .idle_bytes = kLimit});
  for (std::uint64_t n = 1; n <= 100; ++n) {
    use_once(cache, line(n));
    ASSERT_LE(cache.counts().idle_bytes, kLimit);
  }
  EXPECT_EQ(cache.counts().idle, 2u);  // of 16 * 100 and 16 * 99 bytes
  const PlanId large = use_once(cache, line(1000));
  EXPECT_FALSE(alive(large));
  EXPECT_EQ(cache.counts().idle, 0u);
}

TEST_F(PlanCacheTest, AWithdrawnPlanServesItsHoldersOnly) {
  PlanCache cache(*device);
  auto withdrawn = cache.plan_for(line(64)).value();
  auto other = cache.plan_for(line(64)).value();
  const PlanId old = withdrawn->local();
  withdrawn->withdraw();
  other->withdraw();
  auto fresh = cache.plan_for(line(64)).value();
  EXPECT_NE(fresh->local(), old);
  withdrawn.reset();
  const PlanId kept = other->local();
  EXPECT_EQ(kept, old);
  other.reset();
  EXPECT_FALSE(alive(old));
  EXPECT_EQ(cache.plan_for(line(64)).value()->local(), fresh->local());
}

TEST_F(PlanCacheTest, IdleOnesGoWhenTheirMemoryIsNeeded) {
  PlanCache cache(*device);
  const PlanId idle = use_once(cache, line(64));
  auto used = cache.plan_for(line(65));
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(cache.drop_idle(), 1u);
  EXPECT_FALSE(alive(idle));
  EXPECT_EQ(cache.counts().idle_bytes, 0u);
  const PlanId kept = (*used)->local();
  used->reset();
  EXPECT_EQ(use_once(cache, line(65)), kept);
  EXPECT_NE(use_once(cache, line(64)), idle);
}

TEST_F(PlanCacheTest, ImpossiblePlansAreNotKept) {
  PlanCache cache(*device);
  FftPlan impossible = line(0);
  EXPECT_EQ(cache.plan_for(impossible).status().code(), Code::invalid_argument);
  impossible.rank = 200;
  EXPECT_EQ(cache.plan_for(impossible).status().code(), Code::invalid_argument);
  EXPECT_EQ(cache.counts().idle, 0u);
}

TEST_F(PlanCacheTest, ManyMayAskAtOnce) {
  PlanCache cache(*device, {.idle_plans = 3});
  std::vector<std::thread> askers;
  auto seeds = test::fresh_random();
  for (int t = 0; t < 4; ++t) {
    askers.emplace_back([&cache, seed = seeds()] {
      std::mt19937_64 random(seed);
      std::vector<std::unique_ptr<const PlanCache::Plan>> held;
      for (int i = 0; i < 3000; ++i) {
        held.push_back(cache.plan_for(line(1 + random() % 10)).value());
        if (random() % 50 == 0) held.back()->withdraw();
        if (held.size() > 5) held.erase(held.begin() + static_cast<long>(random() % 5));
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_LE(cache.counts().idle, 3u);
  EXPECT_EQ(cache.counts().made + cache.counts().hits, 12000u);
}

}  // namespace
}  // namespace ob::daemon
