// Whatever fails, whenever: what a call reads as well as writes is unchanged, and the next call
// works.

#include "algorithms/offload.hpp"
#include "algorithms/place.hpp"
#include "backend/cpu/blas_library.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

class OffloadFailureTest : public testing::TestWithParam<Place> {
 protected:
  DeviceAt at{GetParam()};
};

TEST_P(OffloadFailureTest, AnyOperationMayFail) {
  auto original = cpu::BlasLibrary::open({});
  if (!original.ok()) GTEST_SKIP() << original.status().message();
  auto random = fresh_random();
  for (const char* name : {"dgemm", "zherk", "strsm", "dgesv", "cpotrf", "dgetrs"}) {
    const Descriptor& routine = *routines::find(name);
    for (const Code code : {Code::device_error, Code::out_of_memory, Code::connection_lost}) {
      Problem problem(routine, random, 20);
      algorithms::Stages stages;
      int failures = 0;
      for (int n = 1;; ++n) {
        at.device().fail_operation(n, Status(code, "injected"));
        const Status status =
            algorithms::offload_call(at.device(), at.queue(), routine, problem.arguments(), stages);
        if (status.ok()) break;
        ++failures;
        ASSERT_EQ(status.code(), code);
        ASSERT_EQ(problem.damage(), "") << "operation " << n << " failed";
        ASSERT_EQ(at.device().buffers(), 0);
        at.device().fail_operation(0, {});
        ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
        problem.reset();  // write-only results may hold anything
      }
      EXPECT_GE(failures, 4) << name;
      const std::vector<Bytes> got = problem.memory();
      problem.reset();
      (*original)->run(*(*original)->find(routine.id), problem.arguments());
      const std::vector<Bytes> expected = problem.memory();
      problem.reset();
      at.device().fail_operation(0, {});
      ASSERT_TRUE(
          algorithms::offload_call(at.device(), at.queue(), routine, problem.arguments(), stages)
              .ok());
      ASSERT_EQ(problem.difference(expected), "");
      EXPECT_TRUE(problem.memory() == got);
    }
  }
}

TEST_P(OffloadFailureTest, ADaemonThatGoesLeavesTheOperandsAlone) {
  if (at.daemon() == nullptr) GTEST_SKIP() << "no daemon";
  auto random = fresh_random();
  Problem problem(*routines::find("dgesv"), random, 50);
  at.daemon()->stop();
  algorithms::Stages stages;
  EXPECT_FALSE(algorithms::offload_call(at.device(), at.queue(), problem.routine(),
                                        problem.arguments(), stages)
                   .ok());
  EXPECT_EQ(problem.damage(), "");
  EXPECT_EQ(at.device().buffers(), 0);
}

INSTANTIATE_TEST_SUITE_P(at, OffloadFailureTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
