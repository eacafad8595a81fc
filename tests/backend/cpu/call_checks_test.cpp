#include "backend/cpu/call_checks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace ob::cpu {
namespace {

// dgesvd of an m x n matrix, with the largest leading dimension and all vectors.
struct Svd {
  Svd(std::int64_t m, std::int64_t n) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = 'S';
      if (routine.kinds[i] == Kind::dim)
        arguments[i].dim = routine.argument_names[i] == "m" ? m : n;
      if (is_memory(routine.kinds[i])) arguments[i].host = {nullptr, INT32_MAX};
    }
  }
  std::int64_t ld(std::string_view name) const {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.argument_names[i] == name) return arguments[i].host.ld;
    }
    return -1;
  }
  const Descriptor& routine = *routines::find("dgesvd");
  Argument arguments[kMaxArguments];
};

TEST(CallChecks, AnUnusedLeadingDimensionBecomesDense) {
  Svd column(7, 1);
  make_unused_strides_dense(column.routine, column.arguments);
  EXPECT_EQ(column.ld("a"), 7);
  EXPECT_EQ(column.ld("u"), 7);
  EXPECT_EQ(column.ld("vt"), 1);
  Svd empty(0, 0);
  make_unused_strides_dense(empty.routine, empty.arguments);
  EXPECT_EQ(empty.ld("a"), 1);
}

TEST(CallChecks, AUsedLeadingDimensionStays) {
  Svd matrix(7, 2);
  make_unused_strides_dense(matrix.routine, matrix.arguments);
  EXPECT_EQ(matrix.ld("a"), INT32_MAX);
}

TEST(CallChecks, AnUnusedIncrementKeepsItsSign) {
  const Descriptor& axpy = *routines::find("daxpy");
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < axpy.kinds.size(); ++i) {
    if (axpy.kinds[i] == Kind::dim) arguments[i].dim = 1;
    if (axpy.kinds[i] == Kind::scalar) arguments[i].scalar = {1, 0};
    if (axpy.kinds[i] == Kind::strided) arguments[i].host = {nullptr, -1000};
  }
  make_unused_strides_dense(axpy, arguments);
  for (std::size_t i = 0; i < axpy.kinds.size(); ++i) {
    if (axpy.kinds[i] == Kind::strided) {
      EXPECT_EQ(arguments[i].host.ld, -1);
    }
  }
}

}  // namespace
}  // namespace ob::cpu
