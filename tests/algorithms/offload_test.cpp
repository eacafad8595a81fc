// Compares every routine of the table, at every place, with the same call of the original library.
// Also checks the caller's memory after the routine itself reports a failure.

#include "algorithms/offload.hpp"

#include <algorithm>

#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

class OffloadTest : public testing::TestWithParam<Place> {
 protected:
  Status offload(Problem& problem, algorithms::Residency* residency = nullptr) {
    timings = {};
    return algorithms::offload_call(
        {at.device(), at.queue(), *problem.routine, problem.arguments, timings, residency});
  }

  DeviceAt at{GetParam()};
  algorithms::CallTimings timings;
};

// Counts the bytes of the elements that are transferred in one direction, one by one.
std::uint64_t travelling(const Problem& problem, bool home) {
  std::uint64_t bytes = 0;
  for (const Operand& o : problem.operands.span()) {
    if (!(home ? o.written : o.read)) continue;
    const Triangle triangle = home ? o.written_triangle : o.triangle;
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (referenced(triangle, i, j)) bytes += o.element_bytes;
      }
    }
  }
  return bytes;
}

// Returns an operand that is not a result and was changed; empty if there is none. An operand that
// the routine only consumes does not return.
std::string changed_input(const Problem& given, const Problem& actual) {
  for (const Operand& o : given.operands.span()) {
    const bool same = given.memory[o.argument] == actual.memory[o.argument];
    if (!o.written && !same) return std::string(given.name_of(o)) + " of " + given.text();
  }
  return "";
}

TEST_P(OffloadTest, EveryRoutineGivesTheOriginalsResultAndTouchesNothingElse) {
  auto random = fresh_random();
  for (const Descriptor& routine : routines::all()) {
    for (int round = 0; round < 8; ++round) {
      const Problem given = random_work(routine, random, round < 6 ? 9 : 30);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      const Status status = offload(actual);
      if (routine.rerun && expected.info() > 0) {
        EXPECT_EQ(status.code(), Code::declined) << given.text();
        EXPECT_TRUE(actual.memory == given.memory) << given.text();
        continue;
      }
      ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
      EXPECT_EQ(difference(given, expected, actual), "");
      EXPECT_EQ(changed_input(given, actual), "");
      EXPECT_EQ(at.device().buffers(), 0);
      EXPECT_EQ(timings.bytes_to, travelling(given, false)) << given.text();
      EXPECT_EQ(timings.bytes_from, travelling(given, true)) << given.text();
    }
  }
}

TEST_P(OffloadTest, IncrementsBelowZeroStartAtTheEnd) {
  double x[] = {3, -1, 2, -1, 1};  // 1, 2, 3 with increment -2
  double y[] = {10, 20, 30};
  Argument arguments[kMaxArguments];
  arguments[0].dim = 3;
  arguments[1].scalar = {100, 0};
  arguments[2].host = {x, -2};
  arguments[3].host = {y, 1};
  const Descriptor& daxpy = *routines::find("daxpy");
  const auto run = [&] {
    return algorithms::offload_call({at.device(), at.queue(), daxpy, arguments, timings});
  };
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(std::vector<double>(y, y + 3), std::vector<double>({110, 220, 330}));
  arguments[3].host = {y, -1};
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(std::vector<double>(y, y + 3), std::vector<double>({410, 420, 430}));
  EXPECT_EQ(std::vector<double>(x, x + 5), std::vector<double>({3, -1, 2, -1, 1}));
}

// Repeats a call with the same memory. The first call sends the inputs. In the second one the
// device takes digests of them. The third one relies on these digests. If a routine changes an
// input on the device, the third call uses the changed data.
TEST_P(OffloadTest, EveryRoutineGivesTheSameFromWhatStayedOnTheDevice) {
  auto random = fresh_random();
  std::uint64_t kept = 0;
  for (const Descriptor& routine : routines::all()) {
    algorithms::Residency residency(
        at.device(),
        {.capacity_bytes = std::uint64_t{1} << 24, .least_bytes = 1, .chunk_bytes = 64});
    for (int round = 0; round < 2; ++round) {
      const Problem given = random_work(routine, random, round == 0 ? 9 : 30);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      for (int again = 0; again < 3; ++again) {
        for (std::size_t i = 0; i < given.memory.size(); ++i) {  // keeps the addresses
          std::copy(given.memory[i].begin(), given.memory[i].end(), actual.memory[i].begin());
        }
        const Status status = offload(actual, &residency);
        if (routine.rerun && expected.info() > 0) {
          EXPECT_EQ(status.code(), Code::declined) << given.text();
          EXPECT_TRUE(actual.memory == given.memory) << given.text();
          continue;
        }
        ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
        ASSERT_EQ(difference(given, expected, actual), "") << again;
        EXPECT_EQ(changed_input(given, actual), "");
        EXPECT_EQ(timings.bytes_to + timings.bytes_kept, travelling(given, false)) << given.text();
        kept += timings.bytes_kept;
      }
    }
    EXPECT_TRUE(residency.release().ok());
    EXPECT_EQ(at.device().buffers(), 0);
  }
  EXPECT_GT(kept, 0u);
}

// Sets the referenced elements of an operand to `value`, and those of its diagonal to `diagonal`.
void set_all(Problem& problem, std::string_view name, double value, double diagonal) {
  const Operand& o = problem.operand(name);
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (referenced(o.triangle, i, j)) problem.set(o, i, j, i == j ? diagonal : value);
    }
  }
}

TEST_P(OffloadTest, ResultsThatInfoDeclaresVoidStayAway) {
  struct Failing {
    const char* base;
    const char* operand;
    double diagonal;
  };
  auto random = fresh_random();
  for (const Failing& failing : {Failing{"posvx", "a", -1},
                                 {"gesvx", "a", 0},
                                 {"gels", "a", 0},
                                 {"sygv", "b", -1},
                                 {"hegvd", "b", -1},
                                 {"sygvx", "b", -1}}) {
    for (const Descriptor& routine : routines::all()) {
      if (routine.base != failing.base) continue;
      ASSERT_TRUE(routine.rerun) << routine.name;
      Problem given = random_work(routine, random, 9);
      set_all(given, failing.operand, 0, failing.diagonal);
      // gels detects a matrix of zeros, which has rank 0, before it factors.
      if (given.has("trans") && routine.base == "gels") given.set(given.operand("a"), 0, 0, 1);
      if (routine.base == "gels" && std::min(given.dim("m"), given.dim("n")) < 2) continue;
      Problem expected = given;
      run_original(expected);
      ASSERT_GT(expected.info(), 0) << given.text();
      Problem actual = given;
      const Status status = offload(actual);
      EXPECT_EQ(status.code(), Code::declined) << given.text();
      const std::string info = "info = " + std::to_string(expected.info());
      EXPECT_NE(status.message().find(info), std::string::npos) << status.message();
      EXPECT_TRUE(actual.memory == given.memory) << given.text();
      EXPECT_EQ(at.device().buffers(), 0);
    }
  }
}

TEST_P(OffloadTest, OtherFailuresComeHomeWithTheirInfo) {
  auto random = fresh_random();
  for (const char* name : {"dgesv", "zgetrf", "spotrf", "csytrf", "dtrtri"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    ASSERT_FALSE(routine.rerun);
    Problem given = random_work(routine, random, 9);
    while (given.has("diag") && given.flag("diag") == 'U') given = random_work(routine, random, 9);
    set_all(given, "a", 0, 0);
    Problem expected = given;
    run_original(expected);
    ASSERT_GT(expected.info(), 0) << given.text();
    Problem actual = given;
    const Status status = offload(actual);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(actual.info(), expected.info()) << given.text();
    EXPECT_EQ(difference(given, expected, actual), "");
  }
}

TEST_P(OffloadTest, WhatDoesNotFitIsSaidBeforeAnythingTravels) {
  DeviceAt small(GetParam(), cpu_device(1 << 20));
  auto random = fresh_random();
  const Problem given = random_work(*routines::find("dgemm"), random, 1);
  Problem problem = given;
  for (std::size_t i = 0; i < problem.routine->kinds.size(); ++i) {
    if (problem.routine->kinds[i] == Kind::dim) problem.arguments[i].dim = 100000;
    // nothing may access this memory
    if (problem.routine->kinds[i] == Kind::matrix) problem.arguments[i].host.ld = 100000;
  }
  small.device().fail_operation(0, {});
  const Status status = algorithms::offload_call(
      {small.device(), small.queue(), *problem.routine, problem.arguments, timings});
  EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
  EXPECT_LE(small.device().operations(), 1);
  EXPECT_TRUE(problem.memory == given.memory);
}

INSTANTIATE_TEST_SUITE_P(at, OffloadTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
