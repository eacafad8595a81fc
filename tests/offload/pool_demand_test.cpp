#include "offload/pool_demand.hpp"

#include <gtest/gtest.h>

namespace ob::offload {
namespace {

TEST(PoolDemand, ASecondOfCallsIsWorthALease) {
  PoolDemand demand;
  EXPECT_FALSE(demand.is_worth(0.9, 100));
  EXPECT_TRUE(demand.is_worth(1.1, 100));  // one great call
  demand.add(0.5, 100);
  EXPECT_FALSE(demand.is_worth(0.4, 100));
  EXPECT_TRUE(demand.is_worth(0.5, 100));
}

TEST(PoolDemand, FadesWhileTheProgramDoesOtherThings) {
  PoolDemand demand;
  demand.add(0.9, 0);
  EXPECT_TRUE(demand.is_worth(0.3, 1));
  EXPECT_FALSE(demand.is_worth(0.3, 5));
  // 50 ms of calls per second are never enough, 200 ms are.
  for (const auto& [seconds, is_worth] : {std::pair{0.05, false}, std::pair{0.2, true}}) {
    PoolDemand loop;
    bool was_worth = false;
    for (int i = 0; i < 100; ++i) {
      was_worth = was_worth || loop.is_worth(seconds, i);
      loop.add(seconds, i);
    }
    EXPECT_EQ(was_worth, is_worth) << seconds;
  }
}

}  // namespace
}  // namespace ob::offload
