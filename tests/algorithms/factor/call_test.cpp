// Compares factorizations on several devices with the original library.

#include "algorithms/factor/call.hpp"

#include "algorithms/factor/factor_matrix.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

TEST(FactorCall, GivesTheOriginalsResultAndTouchesNothingElse) {
  auto random = fresh_random();
  int routines = 0;
  for (const Descriptor& routine : routines::all()) {
    if (!algorithms::can_be_factored(routine)) continue;
    ++routines;
    for (int round = 0; round < 20; ++round) {
      const Problem given = random_work(routine, random, 70);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      const auto devices = uniform<std::size_t>(random, 1, kMostDevices);
      const auto block = uniform<std::uint64_t>(random, 1, 30);
      SCOPED_TRACE(given.text() + " nb=" + std::to_string(block) + " on " +
                   std::to_string(devices));
      const auto exchange = host_exchange(cpu_devices(devices), 1024);
      algorithms::CallTimings timings;
      const Status status = algorithms::offload_factorization(*exchange, routine, actual.arguments,
                                                              {devices, block}, timings);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(difference(given, expected, actual), "");
      EXPECT_EQ(timings.more_devices, devices - 1);
      EXPECT_GT(timings.bytes_to, 0u);
    }
  }
  EXPECT_EQ(routines, 20);
}

}  // namespace
}  // namespace ob::test
