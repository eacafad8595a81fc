// Compares calls in panels with the original library, at every place: results, traffic, cached
// operands, failures.

#include "algorithms/panels/panels.hpp"

#include "algorithms/panels/panel_problems.hpp"
#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

class PanelPipelineTest : public testing::TestWithParam<Place> {
 protected:
  Status offload(Problem& problem, const PanelSchedule& schedule,
                 algorithms::Residency* residency = nullptr) {
    timings = {};
    return algorithms::offload_panels(
        {at.device(), at.queue(), *problem.routine, problem.arguments, timings, residency},
        schedule);
  }

  DeviceAt at{GetParam()};
  algorithms::CallTimings timings;
};

TEST_P(PanelPipelineTest, EveryRoutineGivesTheOriginalsResultAndTouchesNothingElse) {
  auto random = fresh_random();
  ASSERT_EQ(routines_in_panels().size(), 26u);
  for (const Descriptor* routine : routines_in_panels()) {
    for (int round = 0; round < 40; ++round) {
      const Problem given = random_work(*routine, random, 40);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      const PanelSchedule schedule = some_schedule(given, random);
      const Status status = offload(actual, schedule);
      ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
      ASSERT_EQ(difference(given, expected, actual), "") << text_of(schedule);
      EXPECT_EQ(at.device().buffers(), 0);
      EXPECT_EQ(timings.bytes_to, sent_bytes(given)) << given.text();
      EXPECT_EQ(timings.bytes_from, result_bytes(given)) << given.text();
    }
  }
}

TEST_P(PanelPipelineTest, OperandsStay) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_panels()) {
    algorithms::Residency residency(
        at.device(),
        {.capacity_bytes = std::uint64_t{1} << 24, .least_bytes = 1, .chunk_bytes = 256});
    const Problem given = random_work(*routine, random, 40);
    const PanelSchedule schedule = some_schedule(given, random);
    Problem expected = given;
    run_original(expected);
    Problem actual = given;
    for (int again = 0; again < 3; ++again) {
      restore(actual, given);
      ASSERT_TRUE(offload(actual, schedule, &residency).ok());
      ASSERT_EQ(difference(given, expected, actual), "") << again;
      EXPECT_EQ(timings.bytes_to + timings.bytes_kept, sent_bytes(given)) << given.text();
      const std::uint64_t sent = again == 0 ? sent_bytes(given) : 0;
      if (!is_in_place(given)) {
        EXPECT_EQ(timings.bytes_to, sent) << given.text();
      }
    }
    EXPECT_TRUE(residency.release().ok());
    EXPECT_EQ(at.device().buffers(), 0);
  }
}

// After trmm and trsm, the device has the same result as the host.
TEST_P(PanelPipelineTest, ResultsInPlaceAreFoundByTheNextCall) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_panels()) {
    algorithms::Residency residency(
        at.device(),
        {.capacity_bytes = std::uint64_t{1} << 24, .least_bytes = 1, .chunk_bytes = 256});
    const Problem given = random_work(*routine, random, 40);
    if (!is_in_place(given)) continue;
    const PanelSchedule schedule = some_schedule(given, random, 3);
    Problem expected = given;
    Problem actual = given;
    for (int again = 0; again < 3; ++again) {
      run_original(expected);
      ASSERT_TRUE(offload(actual, schedule, &residency).ok());
      ASSERT_EQ(difference(given, expected, actual), "") << again;
      EXPECT_EQ(timings.bytes_to, again == 0 ? sent_bytes(given) : 0) << given.text();
    }
  }
}

TEST_P(PanelPipelineTest, AnyOperationMayFail) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_panels()) {
    if (routine->precision != Precision::z && routine->precision != Precision::s) continue;
    Problem given = random_work(*routine, random, 20);
    // C is read, so it must not change
    while (!is_in_place(given) && given.scalar("beta") == 0.0) {
      given = random_work(*routine, random, 20);
    }
    Problem expected = given;
    run_original(expected);
    const PanelSchedule schedule = some_schedule(given, random, 3);
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      Problem actual = given;
      at.device().fail_operation(n, Status(Code::device_error, "injected"));
      const Status status = offload(actual, schedule);
      const int operations = at.device().operations();
      at.device().fail_operation(0, {});
      if (status.ok()) {
        ASSERT_LT(operations, n) << "a failure passed unnoticed";
        ASSERT_EQ(difference(given, expected, actual), "");
        break;
      }
      ASSERT_EQ(status.code(), Code::device_error);
      ASSERT_TRUE(actual.memory == given.memory)
          << given.text() << ": operation " << n << " failed";
      ASSERT_EQ(at.device().buffers(), 0);
      ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
    }
    EXPECT_GT(failures, 3);
  }
}

// A call needs memory for A as a full matrix, B, and C if there is one, and for nothing else.
TEST_P(PanelPipelineTest, WhatDoesNotFitIsRefusedBeforeItTravels) {
  DeviceAt small(GetParam(), cpu_device(1 << 16));
  auto random = fresh_random();
  for (const char* name : {"dtrsm", "zher2k"}) {
    Problem given = random_work(*routines::find(std::string_view(name)), random, 20);
    for (const char* dim : {"m", "n", "k"}) {
      if (given.has(dim)) given.arguments[given.position(dim)].dim = 100;
    }
    const int before = small.device().operations();
    algorithms::CallTimings counts;
    const Status status = algorithms::offload_panels(
        {small.device(), small.queue(), *given.routine, given.arguments, counts},
        in_parts(given, 4));
    EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
    EXPECT_EQ(counts.bytes_to, 0u);
    EXPECT_LE(small.device().operations(), before + 1);  // the synchronize() of settle()
  }
}

INSTANTIATE_TEST_SUITE_P(at, PanelPipelineTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
