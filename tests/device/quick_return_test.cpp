#include "device/quick_return.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ob {
namespace {

using Left = QuickReturn::Left;

// A call with these flags, dimensions and scalars; all leading dimensions are 10.
QuickReturn of(const char* name, std::string flags, std::vector<std::int64_t> dims,
               std::vector<Complex> scalars) {
  const Descriptor& routine = *routines::find(std::string_view(name));
  Argument arguments[kMaxArguments];
  std::size_t flag = 0;
  std::size_t dim = 0;
  std::size_t scalar = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    switch (routine.kinds[i]) {
      case Kind::flag: arguments[i].flag = flags[flag++]; break;
      case Kind::dim: arguments[i].dim = dims[dim++]; break;
      case Kind::scalar:
      case Kind::real_scalar: arguments[i].scalar = scalars[scalar++]; break;
      default: arguments[i].host = {nullptr, routine.kinds[i] == Kind::strided ? 1 : 10}; break;
    }
  }
  return quick_return(routine, arguments, routine.operands(arguments));
}

TEST(QuickReturn, AnOrdinaryCallComputes) {
  EXPECT_EQ(of("dgemm", "NN", {2, 3, 4}, {{1, 0}, {0, 0}}).left, Left::everything);
  EXPECT_EQ(of("zgemm", "NN", {2, 3, 4}, {{0, 1}, {0, 0}}).left, Left::everything);
  EXPECT_EQ(of("dtrsm", "LUNN", {2, 3}, {{1, 0}}).left, Left::everything);
}

TEST(QuickReturn, AnEmptyResultIsNothing) {
  EXPECT_EQ(of("dgemm", "NN", {0, 3, 4}, {{1, 0}, {0, 0}}).left, Left::nothing);
  EXPECT_EQ(of("dgemv", "N", {0, 3}, {{1, 0}, {0, 0}}).left, Left::nothing);
  EXPECT_EQ(of("dgemv", "N", {3, 0}, {{1, 0}, {0, 0}}).left, Left::nothing);
}

TEST(QuickReturn, WithoutAProductTheResultIsScaled) {
  for (const QuickReturn& quick : {of("dgemm", "NN", {2, 3, 4}, {{0, 0}, {5, 0}}),
                                   of("dgemm", "NN", {2, 3, 0}, {{1, 0}, {5, 0}})}) {
    EXPECT_EQ(quick.left, Left::scaling);
    EXPECT_EQ(quick.factor.re, 5);
    EXPECT_EQ(quick.result.rows, 2u);
    EXPECT_EQ(quick.result.cols, 3u);
    EXPECT_FALSE(quick.hermitian);
  }
  EXPECT_EQ(of("dgemm", "NN", {2, 3, 4}, {{0, 0}, {1, 0}}).left, Left::nothing);
  const QuickReturn cleared = of("dtrmm", "LUNN", {2, 3}, {{0, 0}});
  EXPECT_EQ(cleared.left, Left::scaling);
  EXPECT_EQ(cleared.factor.re, 0);
}

TEST(QuickReturn, TrianglesAreScaledAsSuch) {
  const QuickReturn real = of("dsyrk", "UN", {4, 2}, {{0, 0}, {3, 0}});
  EXPECT_EQ(real.left, Left::scaling);
  EXPECT_EQ(real.result.written_triangle, Triangle::upper);
  EXPECT_FALSE(real.hermitian);
  EXPECT_TRUE(of("zherk", "LN", {4, 0}, {{1, 0}, {3, 0}}).hermitian);
  EXPECT_FALSE(of("zhemm", "LU", {4, 4}, {{0, 0}, {3, 0}}).hermitian);  // C need not be Hermitian
}

TEST(QuickReturn, SumsOverNothingAreZero) {
  EXPECT_EQ(of("ddot", "", {0}, {}).left, Left::zero);
  EXPECT_EQ(of("ddot", "", {1}, {}).left, Left::everything);
  EXPECT_EQ(of("daxpy", "", {5}, {{0, 0}}).left, Left::nothing);
  EXPECT_EQ(of("dscal", "", {0}, {{2, 0}}).left, Left::nothing);
}

}  // namespace
}  // namespace ob
