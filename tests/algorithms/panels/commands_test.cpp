// Tests calls in panels on one device: the order of commands, the memory, NaN and infinity.

#include <algorithm>
#include <limits>

#include "algorithms/metered_device.hpp"
#include "algorithms/panels/panel_problems.hpp"
#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

class PanelCommandsTest : public testing::Test {
 protected:
  // A call of `name` with all dimensions n.
  Problem square(const char* name, std::int64_t n) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    for (;;) {
      Problem given = random_work(routine, random, n);
      bool all = true;
      for (const char* dim : {"m", "n", "k"}) all = all && (!given.has(dim) || given.dim(dim) == n);
      if (all) return given;
    }
  }
  Status offload(Problem& problem, unsigned parts) {
    meter->commands.clear();
    return algorithms::offload_panels({device, queue, *problem.routine, problem.arguments, timings},
                                      in_parts(problem, parts));
  }
  std::string commands(const char* name, unsigned parts) {
    Problem problem = square(name, 9);
    const Status status = offload(problem, parts);
    EXPECT_TRUE(status.ok()) << status.message();
    return meter->commands;
  }

  std::mt19937_64 random = fresh_random();
  std::shared_ptr<Meter> meter = std::make_shared<Meter>();
  MeteredDevice device{cpu_device(), meter};
  QueueId queue = require(device.create_queue());
  algorithms::CallTimings timings;
};

// Each part is computed, and its read is submitted on another queue, before the next one is sent.
TEST_F(PanelCommandsTest, PanelsAreComputedAndReturnedWhileLaterOnesAreSent) {
  const std::string end = "Ss";
  const std::string part = "ceHR";
  for (const char* name : {"dsymm", "zhemm", "strmm", "ctrsm"}) {
    EXPECT_EQ(commands(name, 3), "ww" + part + "w" + part + "w" + part + end) << name;
  }
  for (const char* name : {"dsyrk", "zherk"}) {
    EXPECT_EQ(commands(name, 3), "w" + part + "w" + part + part + "w" + part + part + part + end);
  }
  for (const char* name : {"ssyr2k", "cher2k"}) {
    EXPECT_EQ(commands(name, 2), "ww" + part + "ww" + "c" + part + part + end);
  }
}

// Pending reads would write to memory that the caller already uses again.
TEST_F(PanelCommandsTest, AFailureWaitsForBothQueues) {
  for (const char* name : {"dsymm", "dtrsm", "dsyrk"}) {
    Problem problem = square(name, 9);
    meter->commands.clear();
    ForwardingDevice failing(device);
    failing.fail_operation(12, Status(Code::device_error, "injected"));
    const Status status = algorithms::offload_panels(
        {failing, queue, *problem.routine, problem.arguments, timings}, in_parts(problem, 4));
    EXPECT_EQ(status.code(), Code::device_error);
    EXPECT_NE(meter->commands.find('R'), std::string::npos);
    EXPECT_EQ(meter->commands.substr(meter->commands.size() - 2), "sS") << meter->commands;
  }
}

// A call needs memory for A as a full matrix, B, and C if there is one, and for nothing else.
TEST_F(PanelCommandsTest, WhatFitsAsAWholeFitsInPanels) {
  for (const Descriptor* routine : routines_in_panels()) {
    Problem problem = random_work(*routine, random, 40);
    std::uint64_t bytes = 0;
    for (const Operand& o : problem.operands.span()) bytes += o.rows * o.cols * o.element_bytes;
    const auto shape = *algorithms::panel_shape(*routine, problem.arguments);
    EXPECT_EQ(bytes_needed(shape), static_cast<double>(bytes)) << problem.text();
    meter->peak_bytes = 0;
    const PanelSchedule schedule = some_schedule(problem, random);
    ASSERT_TRUE(
        algorithms::offload_panels({device, queue, *routine, problem.arguments, timings}, schedule)
            .ok());
    constexpr std::uint64_t kBuffers = 2 * 6 + 2;  // each of at least 8 bytes
    EXPECT_LE(meter->peak_bytes, bytes + 8 * kBuffers) << problem.text();
  }
}

// The definition of zherk and zher2k: the imaginary parts of the diagonal are ignored and set to
// zero.
TEST_F(PanelCommandsTest, HermitianDiagonalsAreReal) {
  for (const char* name : {"cherk", "zherk", "cher2k", "zher2k"}) {
    for (const double beta : {0.0, 1.0, -0.5}) {
      Problem given = square(name, 9);
      while (given.scalar("beta") == 0.0) given = square(name, 9);  // fills C
      set_beta(given, {beta, 0});
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      const Operand& c = given.operand("c");
      for (std::uint64_t i = 0; i < c.rows; ++i) {
        const double real = given.value(c, i, i).real();
        actual.set(c, i, i, {real, std::numeric_limits<double>::quiet_NaN()});
      }
      ASSERT_TRUE(offload(actual, 3).ok());
      EXPECT_EQ(difference(given, expected, actual), "");
      for (std::uint64_t i = 0; i < c.rows; ++i) EXPECT_EQ(actual.value(c, i, i).imag(), 0) << name;
    }
  }
}

// Infinite parts of C are multiplied by a real beta, not by a complex beta with imaginary part 0.
TEST_F(PanelCommandsTest, InfinitePartsStayApart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const char* name : {"csymm", "zhemm", "zsyrk", "cher2k"}) {
    Problem problem = square(name, 9);
    while (problem.scalar("beta") == 0.0) problem = square(name, 9);
    set_beta(problem, {1, 0});
    const Operand& c = problem.operand("c");
    const bool upper = c.triangle == Triangle::upper;
    const std::uint64_t i = upper ? 0 : 8;
    problem.set(c, i, 8 - i, {0.5, kInfinity});
    ASSERT_TRUE(offload(problem, 3).ok());
    EXPECT_TRUE(std::isfinite(problem.value(c, i, 8 - i).real())) << name;
    EXPECT_EQ(problem.value(c, i, 8 - i).imag(), kInfinity) << name;
  }
}

TEST_F(PanelCommandsTest, OtherRoutinesAreRefused) {
  Problem problem = square("dgemm", 9);
  EXPECT_FALSE(algorithms::panel_shape(*problem.routine, problem.arguments));
  const Status status =
      algorithms::offload_panels({device, queue, *problem.routine, problem.arguments, timings}, {});
  EXPECT_EQ(status.code(), Code::invalid_argument);
}

}  // namespace
}  // namespace ob::test
