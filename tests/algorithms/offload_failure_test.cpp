// Tests failures of every operation: an operand that a call reads and writes is unchanged, and the
// next call works.

#include <algorithm>

#include "algorithms/offload.hpp"
#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

class OffloadFailureTest : public testing::TestWithParam<Place> {
 protected:
  DeviceAt at{GetParam()};
};

// Returns an operand that the call reads or does not write and that changed; empty if there is
// none.
std::string damage(const Problem& given, const Problem& actual) {
  for (const Operand& o : given.operands.span()) {
    if (!o.read && o.written && !given.routine->rerun) continue;  // may have any contents
    if (given.memory[o.argument] != actual.memory[o.argument]) {
      return std::string(given.name_of(o)) + " of " + given.text();
    }
  }
  return "";
}

TEST_P(OffloadFailureTest, AnyOperationMayFail) {
  auto random = fresh_random();
  for (const char* name : {"dgemm", "zherk", "strsm", "dgesv", "cpotrf", "dgetrs", "dsyev",
                           "zgesvd", "cposvx", "dgeqp3", "zgerc", "sspr2", "izamax"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    for (const Code code : {Code::device_error, Code::out_of_memory, Code::connection_lost}) {
      const Problem given = random_work(routine, random, 12);
      Problem expected = given;
      run_original(expected);
      int failures = 0;
      for (int n = 1;; ++n) {
        Problem actual = given;
        algorithms::CallTimings timings;
        at.device().fail_operation(n, Status(code, "injected"));
        const Status status =
            algorithms::offload_call({at.device(), at.queue(), routine, actual.arguments, timings});
        if (status.ok() || status.code() == Code::declined) {
          ASSERT_EQ(status.ok(), expected.info() == 0 || !routine.rerun) << given.text();
          if (status.ok()) {
            ASSERT_EQ(difference(given, expected, actual), "");
          }
          break;
        }
        ++failures;
        ASSERT_EQ(status.code(), code);
        ASSERT_EQ(damage(given, actual), "") << "operation " << n << " failed";
        ASSERT_EQ(at.device().buffers(), 0);
        at.device().fail_operation(0, {});
        ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
      }
      EXPECT_GE(failures, 4) << name;
    }
  }
}

// Three products. The first two have the same A.
struct Batch {
  explicit Batch(std::mt19937_64& random) {
    const Descriptor& dgemm = *routines::find("dgemm");
    problems.push_back(random_work(dgemm, random, 12));
    problems.push_back(problems[0]);
    problems.push_back(random_work(dgemm, random, 12));
    const int a = problems[0].position("a");
    for (Problem& problem : problems) {
      CallArguments& call = calls.emplace_back();
      std::copy_n(problem.arguments, kMaxArguments, call.items);
    }
    calls[1].items[a] = calls[0].items[a];
  }
  std::vector<Problem> problems;
  std::vector<CallArguments> calls;
};

TEST_P(OffloadFailureTest, ABatchChangesNothingUntilAllOfItIsInHand) {
  auto random = fresh_random();
  for (int n = 1;; ++n) {
    Batch batch(random);
    const std::vector<Problem> given = batch.problems;
    algorithms::CallTimings timings;
    at.device().fail_operation(n, Status(Code::device_error, "injected"));
    const Status status =
        algorithms::offload_calls(at.device(), at.queue(), *given[0].routine, batch.calls, timings);
    at.device().fail_operation(0, {});
    ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
    ASSERT_EQ(at.device().buffers(), 0);
    if (!status.ok()) {
      for (std::size_t i = 0; i < given.size(); ++i) {
        ASSERT_EQ(damage(given[i], batch.problems[i]), "") << "operation " << n << " failed";
      }
      continue;
    }
    EXPECT_GE(n, 12);  // three calls of three operands each
    for (std::size_t i = 0; i < given.size(); ++i) {
      Problem expected = given[i];
      run_original(expected);
      EXPECT_EQ(difference(given[i], expected, batch.problems[i]), "");
    }
    break;
  }
}

TEST_P(OffloadFailureTest, WhatCallsOfABatchShareTravelsOnce) {
  auto random = fresh_random();
  Batch batch(random);
  algorithms::CallTimings all;
  const Descriptor& dgemm = *batch.problems[0].routine;
  ASSERT_TRUE(algorithms::offload_calls(at.device(), at.queue(), dgemm, batch.calls, all).ok());
  std::uint64_t one_by_one = 0;
  for (const CallArguments& call : batch.calls) {
    algorithms::CallTimings timings;
    ASSERT_TRUE(
        algorithms::offload_call({at.device(), at.queue(), dgemm, call.items, timings}).ok());
    one_by_one += timings.bytes_to;
  }
  const Operand& a = batch.problems[0].operand("a");
  EXPECT_EQ(all.bytes_to + a.rows * a.cols * a.element_bytes, one_by_one);
}

TEST_P(OffloadFailureTest, ADaemonThatGoesLeavesTheOperandsAlone) {
  if (at.daemon() == nullptr) GTEST_SKIP() << "no daemon";
  auto random = fresh_random();
  const Problem given = random_work(*routines::find("dgesv"), random, 50);
  Problem actual = given;
  at.daemon()->stop();
  algorithms::CallTimings timings;
  EXPECT_FALSE(
      algorithms::offload_call({at.device(), at.queue(), *given.routine, actual.arguments, timings})
          .ok());
  EXPECT_EQ(damage(given, actual), "");
  EXPECT_EQ(at.device().buffers(), 0);
}

INSTANTIATE_TEST_SUITE_P(at, OffloadFailureTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
