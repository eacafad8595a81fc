// Tests the work that the decision gets for factorizations that do not fit on the device.

#include "offload/work.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string_view>

#include "offload/factor_memory.hpp"
#include "routines/cost.hpp"

namespace ob::offload {
namespace {

constexpr std::int64_t kOrder = 4096;

CallArguments call_of(const Descriptor& routine) {
  CallArguments call;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::flag) call.items[i].flag = routine.values[i].front();
    if (routine.kinds[i] == Kind::dim) call.items[i].dim = kOrder;
    if (is_memory(routine.kinds[i])) call.items[i].host = {nullptr, kOrder};
  }
  return call;
}

policy::Work work_on(const Descriptor& routine, double memory_bytes) {
  const CallArguments call = call_of(routine);
  return work_of(routine, call.items, 1, static_cast<std::uint64_t>(memory_bytes));
}

TEST(Work, PanelsThatComeBackAreCounted) {
  constexpr double kN = kOrder;
  for (const char* name : {"dpotrf", "dgetrf", "dgeqrf", "zgetrf", "sposv", "cgesv"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    const CallArguments call = call_of(routine);
    const double element = element_bytes(routine.precision);
    const double once = cost_of(routine, call.items).bytes_to;
    EXPECT_EQ(work_on(routine, 3 * element * kN * kN).bytes_to, once) << name;
    double before = once;
    for (const double part : {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16}) {
      const policy::Work work = work_on(routine, part * element * kN * kN);
      EXPECT_TRUE(work.overlaps);
      EXPECT_FALSE(work.may_stay);
      EXPECT_GT(work.bytes_to, before) << name << ' ' << part;
      const bool triangle = routine.base.starts_with("po");
      // docs/factorizations.md; two panels take a fifth of the memory
      const double expected = once + element * kN * kN / ((triangle ? 12 : 3) * 0.8 * part);
      const double tolerance = part < 0.2 ? 0.2 : 0.5;  // leading terms only
      EXPECT_NEAR(work.bytes_to, expected, tolerance * expected) << name << ' ' << part;
      before = work.bytes_to;
    }
  }
}

// A product reads two operands, and the third one if beta is not 0; solvers replace what they read.
TEST(Work, OperandsThatAreReadAreNamed) {
  const Descriptor& gemm = *routines::find(std::string_view("dgemm"));
  CallArguments call = call_of(gemm);
  double memory[3] = {};
  std::size_t next = 0;
  for (std::size_t i = 0; i < gemm.kinds.size(); ++i) {
    if (is_memory(gemm.kinds[i])) call.items[i].host.data = &memory[next++];
    if (gemm.kinds[i] == Kind::scalar) call.items[i].scalar = {1, 0};
  }
  const policy::Work work = work_of(gemm, call.items);
  EXPECT_EQ(work.operands[0].address, std::bit_cast<std::uintptr_t>(&memory[0]));
  EXPECT_EQ(work.operands[1].address, std::bit_cast<std::uintptr_t>(&memory[1]));
  EXPECT_EQ(work.operands[0].bytes, 8.0 * kOrder * kOrder);
  EXPECT_EQ(work.operands[2].address, 0);  // C is replaced
  EXPECT_EQ(work.operands[2].bytes, 8.0 * kOrder * kOrder);
  EXPECT_EQ(work.operands[3].bytes, 0);
  const policy::Work solve = work_on(*routines::find(std::string_view("dpotrf")), 1e15);
  EXPECT_EQ(solve.operands[0].address, 0);
  EXPECT_GT(solve.operands[0].bytes, 0);
}

TEST(Work, MemoryIsOfNoAccountToOtherRoutines) {
  const Descriptor& routine = *routines::find(std::string_view("dpotri"));
  EXPECT_EQ(work_on(routine, 1 << 20).bytes_to, work_on(routine, 1e15).bytes_to);
}

// An operand that is read and replaced has one place on the device.
TEST(Work, MemoryIsThatOfEachOperandOnce) {
  constexpr double kMatrix = 8.0 * kOrder * kOrder;
  for (const double beta : {0.0, 1.0}) {
    const Descriptor& gemm = *routines::find(std::string_view("dgemm"));
    CallArguments call = call_of(gemm);
    for (std::size_t i = 0; i < gemm.kinds.size(); ++i) {
      if (gemm.kinds[i] == Kind::scalar) call.items[i].scalar = {beta, 0};
    }
    EXPECT_EQ(work_of(gemm, call.items).memory_bytes, 3 * kMatrix) << beta;
    EXPECT_EQ(work_of(gemm, call.items, 5).memory_bytes, 15 * kMatrix) << beta;
  }
  const policy::Work solve = work_on(*routines::find(std::string_view("dgesv")), 1e15);
  EXPECT_LT(solve.memory_bytes, 2.01 * kMatrix);  // A, B, and the pivots
  EXPECT_GE(solve.memory_bytes, 2 * kMatrix);
  FftPlan plan;
  plan.rank = 1;
  plan.n[0] = kOrder;
  plan.batch = 3;
  EXPECT_EQ(work_of(plan, std::uint64_t{1} << 40).memory_bytes, 3 * 16.0 * kOrder);
  plan.in_place = false;
  EXPECT_EQ(work_of(plan, std::uint64_t{1} << 40).memory_bytes, 6 * 16.0 * kOrder);
}

}  // namespace
}  // namespace ob::offload
