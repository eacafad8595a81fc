// Every routine of the table, everywhere, against the same call of the original library.

#include "algorithms/offload.hpp"

#include "algorithms/place.hpp"
#include "backend/cpu/blas_library.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

class OffloadTest : public testing::TestWithParam<Place> {
 protected:
  DeviceAt at{GetParam()};
};

TEST_P(OffloadTest, EveryRoutineGivesTheOriginalsResultAndTouchesNothingElse) {
  auto original = cpu::BlasLibrary::open({});
  if (!original.ok()) GTEST_SKIP() << original.status().message();
  auto random = fresh_random();
  for (const Descriptor& routine : routines::all()) {
    const auto* function = (*original)->find(routine.id);
    if (function == nullptr) continue;
    for (int round = 0; round < 12; ++round) {
      Problem problem(routine, random, round < 6 ? 9 : 50);
      (*original)->run(*function, problem.arguments());
      const std::vector<Bytes> expected = problem.memory();
      problem.reset();
      algorithms::Stages stages;
      const Status status =
          algorithms::offload_call(at.device(), at.queue(), routine, problem.arguments(), stages);
      ASSERT_TRUE(status.ok()) << problem.describe() << ": " << status.message();
      ASSERT_EQ(problem.difference(expected), "");
      ASSERT_EQ(at.device().buffers(), 0);
      EXPECT_GT(stages.bytes_to, 0u);
      EXPECT_GT(stages.bytes_from, 0u);
    }
  }
}

TEST_P(OffloadTest, WhatDoesNotFitIsSaidBeforeAnythingTravels) {
  DeviceAt small(GetParam(), cpu_device(1 << 20));
  auto random = fresh_random();
  Problem problem(*routines::find("dgemm"), random, 1);
  Argument arguments[kMaxArguments];
  std::copy_n(problem.arguments(), problem.routine().kinds.size(), arguments);
  for (std::size_t i = 0; i < problem.routine().kinds.size(); ++i) {
    if (problem.routine().kinds[i] == Kind::dim) arguments[i].dim = 100000;
    // nobody may touch this
    if (problem.routine().kinds[i] == Kind::matrix) arguments[i].host.ld = 100000;
  }
  algorithms::Stages stages;
  small.device().fail_operation(0, {});
  const Status status =
      algorithms::offload_call(small.device(), small.queue(), problem.routine(), arguments, stages);
  EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
  EXPECT_LE(small.device().operations(), 1);
  EXPECT_EQ(problem.damage(), "");
}

INSTANTIATE_TEST_SUITE_P(at, OffloadTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
