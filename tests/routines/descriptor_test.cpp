#include "routines/descriptor.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "routines/call_arguments.hpp"

namespace ob::test {
namespace {

Arguments gemm(char ta, char tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
               std::int64_t lda, std::int64_t ldb, double beta, std::int64_t ldc) {
  Arguments a;
  a.flag(ta)
      .flag(tb)
      .dim(m)
      .dim(n)
      .dim(k)
      .scalar(alpha)
      .matrix(lda)
      .matrix(ldb)
      .scalar(beta)
      .matrix(ldc);
  return a;
}

bool legal(std::string_view name, const Arguments& a) { return row(name).legal(a.values, a.lds); }

TEST(Descriptor, EveryRowHasOnePrecisionNameAndId) {
  std::set<std::uint32_t> ids;
  std::set<std::string_view> names;
  for (const Descriptor& d : routines::all()) {
    ids.insert(d.id);
    names.insert(d.name);
    EXPECT_EQ(routines::find(d.id), &d);
    EXPECT_EQ(routines::find(d.name), &d);
    EXPECT_EQ(d.kinds.size(), d.argument_names.size());
    EXPECT_EQ(d.kinds.size(), d.values.size());
    EXPECT_LE(d.kinds.size(), static_cast<std::size_t>(kMaxArguments));
    // Only names of level 1 may break the rule.
    if (d.level == 1) continue;
    EXPECT_EQ(d.name.substr(1), d.base);
    EXPECT_EQ(d.name[0], "sdcz"[static_cast<int>(d.precision)]);
  }
  EXPECT_EQ(ids.size(), routines::all().size());
  EXPECT_EQ(names.size(), routines::all().size());
  EXPECT_GT(routines::all().size(), 300U);
  EXPECT_EQ(routines::find("dgemw"), nullptr);
  EXPECT_EQ(routines::find(std::uint32_t{1}), nullptr);
}

TEST(Descriptor, OperationsOfDevicesAreFoundButAreNoRoutinesOfPrograms) {
  ASSERT_FALSE(routines::device_operations().empty());
  for (const Descriptor& d : routines::device_operations()) {
    EXPECT_EQ(routines::find(d.id), &d);
    EXPECT_EQ(routines::find(d.name), &d);
    EXPECT_EQ(d.library, Library::block);
    EXPECT_EQ(d.level, 1);
    for (const Descriptor& other : routines::all()) {
      EXPECT_NE(other.id, d.id);
      EXPECT_NE(other.name, d.name);
    }
  }
}

TEST(Descriptor, IdIsFnv1aOfTheName) {
  // Computed by hand with the published constants. Ids are sent to daemons and must never change.
  EXPECT_EQ(row("dgemm").id, 0xfd8cf5bdU);
  EXPECT_EQ(row("zpotrs").id, 0x943301a3U);
  EXPECT_EQ(row("dpermute").id, 0x56207983U);
}

TEST(Descriptor, GemmShapesFollowTheFlags) {
  const auto a = gemm('T', 'C', 3, 4, 5, 1, 5, 4, 0, 3);
  const Operands o = row("zgemm").operands(a.values);
  ASSERT_EQ(o.count, 3);
  expect_operand(o.items[0], 6, true, false, Triangle::full, 5, 3, 16);
  expect_operand(o.items[1], 7, true, false, Triangle::full, 4, 5, 16);
  expect_operand(o.items[2], 9, false, true, Triangle::full, 3, 4, 16);  // beta = 0: not read
  EXPECT_TRUE(row("dgemm").operands(gemm('N', 'N', 3, 4, 5, 1, 5, 4, 0.5, 3).values).items[2].read);
  EXPECT_EQ(row("dgemm").flops(a.values), 120);
  EXPECT_EQ(row("zgemm").flops(a.values), 480);
  const double large =
      row("dgemm").flops(gemm('N', 'N', 1 << 20, 1 << 20, 1 << 20, 1, 1, 1, 1, 1).values);
  EXPECT_EQ(large, 0x1p61);
}

TEST(Descriptor, GemmLegalityIsTheReferences) {
  EXPECT_TRUE(legal("dgemm", gemm('N', 'N', 3, 4, 5, 1, 3, 5, 0, 3)));
  EXPECT_TRUE(legal("dgemm", gemm('C', 'T', 3, 4, 5, 1, 5, 4, 0, 3)));
  EXPECT_TRUE(legal("dgemm", gemm('N', 'N', 0, 0, 0, 1, 1, 1, 0, 1)));
  EXPECT_FALSE(
      legal("dgemm", gemm('n', 'N', 3, 4, 5, 1, 3, 5, 0, 3)));  // the normal form is upper case
  EXPECT_FALSE(legal("dgemm", gemm('N', 'X', 3, 4, 5, 1, 3, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('\0', 'N', 3, 4, 5, 1, 3, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('N', 'N', -1, 4, 5, 1, 3, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('N', 'N', 3, 4, -5, 1, 3, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('N', 'N', 3, 4, 5, 1, 2, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('T', 'N', 3, 4, 5, 1, 4, 5, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('N', 'N', 3, 4, 5, 1, 3, 4, 0, 3)));
  EXPECT_FALSE(legal("dgemm", gemm('N', 'N', 3, 4, 5, 1, 3, 5, 0, 2)));
  EXPECT_FALSE(
      legal("dgemm", gemm('N', 'N', 0, 0, 0, 1, 0, 1, 0, 1)));  // lda >= 1 even for empty matrices
}

TEST(Descriptor, TrivialCallsStayAtHome) {
  const auto trivial = [](const Arguments& a) { return row("zgemm").trivial(a.values); };
  EXPECT_FALSE(trivial(gemm('N', 'N', 1, 1, 1, 1, 1, 1, 0, 1)));
  EXPECT_TRUE(trivial(gemm('N', 'N', 0, 1, 1, 1, 1, 1, 0, 1)));
  EXPECT_TRUE(trivial(gemm('N', 'N', 1, 0, 1, 1, 1, 1, 0, 1)));
  EXPECT_TRUE(trivial(gemm('N', 'N', 1, 1, 0, 1, 1, 1, 0, 1)));
  EXPECT_TRUE(trivial(gemm('N', 'N', 1, 1, 1, 0, 1, 1, 2, 1)));
  auto imaginary = gemm('N', 'N', 1, 1, 1, 0, 1, 1, 2, 1);
  imaginary.values[5].scalar = {0, 1};
  EXPECT_FALSE(trivial(imaginary));
  auto nan = gemm('N', 'N', 1, 1, 1, std::numeric_limits<double>::quiet_NaN(), 1, 1, 2, 1);
  EXPECT_FALSE(trivial(nan));
}

TEST(Descriptor, SyrkTransDependsOnTheField) {
  const auto syrk = [](char trans) {
    Arguments a;
    a.flag('U').flag(trans).dim(3).dim(2).scalar(1).matrix(3).scalar(0).matrix(3);
    return a;
  };
  for (const char trans : {'N', 'T', 'C'}) EXPECT_TRUE(legal("dsyrk", syrk(trans)));
  EXPECT_TRUE(legal("zsyrk", syrk('N')));
  EXPECT_TRUE(legal("zsyrk", syrk('T')));
  EXPECT_FALSE(legal("zsyrk", syrk('C')));
  EXPECT_TRUE(legal("zherk", syrk('C')));
  EXPECT_FALSE(legal("zherk", syrk('T')));
  const Operands o = row("csyrk").operands(syrk('N').values);
  expect_operand(o.items[0], 5, true, false, Triangle::full, 3, 2, 8);
  expect_operand(o.items[1], 7, false, true, Triangle::upper, 3, 3, 8);
  EXPECT_EQ(row("dsyrk").flops(syrk('N').values), 24);  // 3 * 4 * 2
}

TEST(Descriptor, TrsmReadsOneTriangleWithoutUnitDiagonal) {
  const auto trsm = [](char side, char uplo, char diag) {
    Arguments a;
    a.flag(side).flag(uplo).flag('N').flag(diag).dim(3).dim(4).scalar(1).matrix(4).matrix(3);
    return a;
  };
  const auto a_of = [&](char side, char uplo, char diag) {
    return row("strsm").operands(trsm(side, uplo, diag).values).items[0];
  };
  expect_operand(a_of('L', 'U', 'N'), 7, true, false, Triangle::upper, 3, 3, 4);
  expect_operand(a_of('R', 'L', 'N'), 7, true, false, Triangle::lower, 4, 4, 4);
  expect_operand(a_of('L', 'U', 'U'), 7, true, false, Triangle::upper_strict, 3, 3, 4);
  expect_operand(a_of('R', 'L', 'U'), 7, true, false, Triangle::lower_strict, 4, 4, 4);
  expect_operand(row("strsm").operands(trsm('L', 'U', 'N').values).items[1], 8, true, true,
                 Triangle::full, 3, 4, 4);
  EXPECT_EQ(row("strsm").flops(trsm('L', 'U', 'N').values), 36);  // m n m
  EXPECT_EQ(row("strsm").flops(trsm('R', 'U', 'N').values), 48);  // m n n
}

TEST(Descriptor, FactorisationsAndSolves) {
  Arguments gesv;
  gesv.dim(5).dim(2).matrix(5).memory().matrix(6).memory();
  const Operands o = row("dgesv").operands(gesv.values);
  ASSERT_EQ(o.count, 4);
  expect_operand(o.items[0], 2, true, true, Triangle::full, 5, 5, 8);
  expect_operand(o.items[1], 3, false, true, Triangle::full, 5, 1, 8);
  expect_operand(o.items[2], 4, true, true, Triangle::full, 5, 2, 8);
  expect_operand(o.items[3], 5, false, true, Triangle::full, 1, 1, 8);
  EXPECT_NEAR(row("dgesv").flops(gesv.values), 250.0 / 3 + 100, 1e-12);

  Arguments getrf;
  getrf.dim(5).dim(3).matrix(5).memory().memory();
  EXPECT_EQ(row("cgetrf").operands(getrf.values).items[1].rows, 3U);  // min(m, n)
  EXPECT_EQ(row("dgetrf").flops(getrf.values), 9 * (5 - 1));          // n^2 (m - n/3)

  Arguments getrs;
  getrs.flag('C').dim(3).dim(2).matrix(3).memory().matrix(3).memory();
  EXPECT_TRUE(legal("dgetrs", getrs));
  expect_operand(row("dgetrs").operands(getrs.values).items[1], 4, true, false, Triangle::full, 3,
                 1, 8);

  Arguments potrf;
  potrf.flag('L').dim(6).matrix(6).memory();
  expect_operand(row("zpotrf").operands(potrf.values).items[0], 2, true, true, Triangle::lower, 6,
                 6, 16);
  EXPECT_EQ(row("dpotrf").flops(potrf.values), 72);
}

}  // namespace
}  // namespace ob::test
