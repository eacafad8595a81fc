// Compares products in every order with the original library: results, traffic, failures.

#include "algorithms/panels/gemm_pipeline.hpp"

#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

using algorithms::ProductOrder;
using algorithms::ProductSchedule;

class GemmPipelineTest : public testing::TestWithParam<Place> {
 protected:
  static ProductSchedule some_schedule(const Problem& problem, ProductOrder order,
                                       std::mt19937_64& random) {
    return algorithms::schedule_product(
        algorithms::product_shape(*problem.routine, problem.arguments), order,
        uniform(random, 1U, 6U), 0.1 * uniform(random, 0, 5));
  }
  Status offload(Problem& problem, const ProductSchedule& schedule,
                 algorithms::Residency* residency = nullptr) {
    timings = {};
    return algorithms::offload_product(
        {at.device(), at.queue(), *problem.routine, problem.arguments, timings, residency},
        schedule);
  }
  static std::uint64_t bytes_of(const Problem& problem, std::string_view operand) {
    const Operand& o = problem.operand(operand);
    return o.rows * o.cols * o.element_bytes;
  }

  DeviceAt at{GetParam()};
  algorithms::CallTimings timings;
};

TEST_P(GemmPipelineTest, EveryOrderGivesTheOriginalsResult) {
  auto random = fresh_random();
  for (const char* name : {"sgemm", "dgemm", "cgemm", "zgemm"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    for (int round = 0; round < 80; ++round) {
      const Problem given = random_work(routine, random, 40);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      const ProductOrder order = algorithms::kProductOrders[round % 4];
      const Status status = offload(actual, some_schedule(given, order, random));
      ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
      ASSERT_EQ(difference(given, expected, actual), "") << name_of(order);
      EXPECT_EQ(at.device().buffers(), 0);
      EXPECT_EQ(timings.bytes_to, bytes_of(given, "a") + bytes_of(given, "b"));
      EXPECT_EQ(timings.bytes_from, bytes_of(given, "c"));
    }
  }
}

TEST_P(GemmPipelineTest, PanelsStay) {
  auto random = fresh_random();
  const Descriptor& routine = *routines::find(std::string_view("dgemm"));
  for (const ProductOrder order : algorithms::kProductOrders) {
    algorithms::Residency residency(
        at.device(),
        {.capacity_bytes = std::uint64_t{1} << 24, .least_bytes = 1, .chunk_bytes = 256});
    const Problem given = random_work(routine, random, 40);
    const ProductSchedule schedule = some_schedule(given, order, random);
    Problem expected = given;
    run_original(expected);
    Problem actual = given;
    for (int again = 0; again < 3; ++again) {
      const std::size_t c = given.operand("c").argument;
      std::copy(given.memory[c].begin(), given.memory[c].end(), actual.memory[c].begin());
      ASSERT_TRUE(offload(actual, schedule, &residency).ok());
      ASSERT_EQ(difference(given, expected, actual), "") << again;
      const std::uint64_t inputs = bytes_of(given, "a") + bytes_of(given, "b");
      EXPECT_EQ(timings.bytes_to, again == 0 ? inputs : 0) << name_of(order);
      EXPECT_EQ(timings.bytes_kept, again == 0 ? 0 : inputs);
    }
  }
}

TEST_P(GemmPipelineTest, AnyOperationMayFail) {
  auto random = fresh_random();
  const Descriptor& routine = *routines::find(std::string_view("zgemm"));
  for (const ProductOrder order : algorithms::kProductOrders) {
    Problem given = random_work(routine, random, 20);
    given.arguments[given.position("beta")].scalar = {0.5, -1};  // C is read, so it must not change
    given.operands = routine.operands(given.arguments);
    Problem expected = given;
    run_original(expected);
    const ProductSchedule schedule = some_schedule(given, order, random);
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      Problem actual = given;
      at.device().fail_operation(n, Status(Code::device_error, "injected"));
      const Status status = offload(actual, schedule);
      at.device().fail_operation(0, {});
      if (status.ok()) {
        ASSERT_EQ(difference(given, expected, actual), "");
        break;
      }
      ASSERT_EQ(status.code(), Code::device_error);
      ASSERT_TRUE(actual.memory == given.memory) << "operation " << n << " failed";
      ASSERT_EQ(at.device().buffers(), 0);
      ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
    }
    EXPECT_GT(failures, 3);
  }
}

TEST_P(GemmPipelineTest, WhatDoesNotFitIsRefusedBeforeItTravels) {
  DeviceAt small(GetParam(), cpu_device(1 << 16));
  auto random = fresh_random();
  Problem given = random_work(*routines::find(std::string_view("dgemm")), random, 20);
  for (const char* name : {"m", "n", "k"}) given.arguments[given.position(name)].dim = 64;
  const ProductSchedule schedule = some_schedule(given, ProductOrder::alternating, random);
  const int before = small.device().operations();
  algorithms::CallTimings counts;
  const Status status = algorithms::offload_product(
      {small.device(), small.queue(), *given.routine, given.arguments, counts}, schedule);
  EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
  EXPECT_EQ(counts.bytes_to, 0u);
  EXPECT_LE(small.device().operations(), before + 1);  // the synchronize() of settle()
}

INSTANTIATE_TEST_SUITE_P(at, GemmPipelineTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
