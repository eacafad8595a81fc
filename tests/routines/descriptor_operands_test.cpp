// Tests operands that are no matrices, and operands of which different parts are read and written.

#include <limits>

#include "routines/call_arguments.hpp"

namespace ob::test {
namespace {

const Operand& operand(const Operands& operands, std::string_view routine, std::string_view name) {
  for (const Operand& o : operands.span()) {
    if (row(routine).argument_names[o.argument] == name) return o;
  }
  throw std::runtime_error("no operand " + std::string(name));
}

std::string_view values(std::string_view routine, std::string_view name) {
  const Descriptor& d = row(routine);
  for (std::size_t i = 0; i < d.kinds.size(); ++i) {
    if (d.argument_names[i] == name) return d.values[i];
  }
  throw std::runtime_error("no argument " + std::string(name));
}

TEST(DescriptorOperands, StridedOnesAreRowsWithAnyIncrementButZero) {
  const auto axpy = [](std::int64_t incx, std::int64_t incy) {
    Arguments a;
    a.dim(5).scalar(2).strided(incx).strided(incy);
    return a;
  };
  const Descriptor& routine = row("caxpy");
  for (const std::int64_t increment : {1, -1, 7, -7})
    EXPECT_TRUE(routine.legal(axpy(increment, 1).values, axpy(increment, 1).lds)) << increment;
  EXPECT_FALSE(routine.legal(axpy(0, 1).values, axpy(0, 1).lds));
  EXPECT_FALSE(routine.legal(axpy(1, 0).values, axpy(1, 0).lds));
  const Operands o = routine.operands(axpy(1, -3).values);
  ASSERT_EQ(o.count, 2);
  expect_operand(o.items[0], 2, true, false, Triangle::full, 1, 5, 8);
  expect_operand(o.items[1], 3, true, true, Triangle::full, 1, 5, 8);
  EXPECT_EQ(routine.level, 1);
}

TEST(DescriptorOperands, SomeIncrementsMustBePositive) {
  for (const char* name : {"dscal", "zdscal", "dnrm2", "scasum", "izamax"}) {
    Arguments a;
    a.dim(5);
    if (row(name).kinds.size() == 3 && row(name).kinds[1] != Kind::strided) a.scalar(2);
    const int x = a.count;
    a.strided(-1).memory();
    EXPECT_FALSE(row(name).legal(a.values, a.lds)) << name;
    a.lds[x] = 1;
    EXPECT_TRUE(row(name).legal(a.values, a.lds)) << name;
  }
}

TEST(DescriptorOperands, WordsAreTheNumbersThatElementsAreMadeOf) {
  const Argument arguments[kMaxArguments] = {};
  for (const Descriptor& routine : routines::all()) {
    const Operands operands = routine.operands(arguments);
    for (const Operand& o : operands.span()) {
      const bool complex = routine.precision == Precision::c || routine.precision == Precision::z;
      const std::uint32_t words = o.element_bytes / o.word_bytes;
      EXPECT_EQ(o.element_bytes % o.word_bytes, 0u) << routine.name;
      EXPECT_TRUE(words == 1 || (words == 2 && complex)) << routine.name;
      if (!has_ld(routine.kinds[o.argument])) continue;
      EXPECT_EQ(o.element_bytes, element_bytes(routine.precision)) << routine.name;
      EXPECT_EQ(o.word_bytes, real_bytes(routine.precision)) << routine.name;
    }
  }
  const auto expect_words = [&](const char* routine, const char* name, int element, int word) {
    const Operands operands = row(routine).operands(arguments);
    const Operand& o = operand(operands, routine, name);
    EXPECT_EQ(int(o.element_bytes), element) << routine << " " << name;
    EXPECT_EQ(int{o.word_bytes}, word) << routine << " " << name;
    EXPECT_EQ(int{region_of(o, row(routine).kinds[o.argument], 1).word_bytes}, word);
  };
  expect_words("icamax", "result", 8, 8);  // an integer, as long as a pair of floats
  expect_words("cdotu", "result", 8, 4);
  expect_words("dsdot", "result", 8, 8);
  expect_words("cheev", "w", 4, 4);
  expect_words("zheev", "w", 8, 8);
  expect_words("sgesv", "ipiv", 8, 8);
  expect_words("cgesv", "info", 8, 8);
  expect_words("zposvx", "equed", 1, 1);
}

TEST(DescriptorOperands, RegionsOfStridedOperands) {
  const Operand x{.element_bytes = 8, .rows = 1, .cols = 5};
  for (const std::int64_t increment : {3, -3}) {
    const Region region = region_of(x, Kind::strided, increment);
    EXPECT_EQ(region.rows, 1U);
    EXPECT_EQ(region.cols, 5U);
    EXPECT_EQ(region.ld, 3U);  // the sign only selects the first element
  }
  EXPECT_EQ(region_of(x, Kind::strided, std::numeric_limits<std::int64_t>::min()).ld,
            std::uint64_t{1} << 63);
  EXPECT_EQ(dense_ld(x, Kind::strided, 3), 1);
  EXPECT_EQ(dense_ld(x, Kind::strided, -3), -1);
  const Operand a{.element_bytes = 8, .rows = 4, .cols = 2};
  EXPECT_EQ(region_of(a, Kind::matrix, 9).ld, 9U);
  EXPECT_EQ(dense_ld(a, Kind::matrix, 9), 4);
  const Operand nothing{.element_bytes = 8, .rows = 0, .cols = 2};
  EXPECT_EQ(dense_ld(nothing, Kind::matrix, 9), 1);
  const Operand tau{.element_bytes = 8, .rows = 4, .cols = 1};
  EXPECT_EQ(region_of(tau, Kind::vector, 0).ld, 4U);
  EXPECT_EQ(dense_ld(tau, Kind::vector, 0), 0);
}

TEST(DescriptorOperands, ElementsOfEveryType) {
  const auto bytes_of_result = [](const char* name) {
    const Operands o = row(name).operands(Arguments().dim(3).values);
    EXPECT_EQ(row(name).kinds.back(), Kind::result);
    return o.items[o.count - 1].element_bytes;
  };
  EXPECT_EQ(bytes_of_result("sdot"), 4U);
  EXPECT_EQ(bytes_of_result("zdotc"), 16U);
  EXPECT_EQ(bytes_of_result("dsdot"), 8U);   // double for single
  EXPECT_EQ(bytes_of_result("scnrm2"), 4U);  // real for complex
  EXPECT_EQ(bytes_of_result("isamax"), 8U);  // an integer
  Arguments heev;
  heev.flag('N').flag('U').dim(3).matrix(3).memory().memory();
  const Operands o = row("cheev").operands(heev.values);
  expect_operand(operand(o, "cheev", "w"), 4, false, true, Triangle::full, 3, 1, 4);
  expect_operand(operand(o, "cheev", "info"), 5, false, true, Triangle::full, 1, 1, 8);
  Arguments posvx;
  posvx.flag('N').flag('U').dim(3).dim(2).matrix(3).matrix(3).memory().memory().matrix(3).matrix(3);
  posvx.memory().memory().memory().memory();
  const Operands p = row("dposvx").operands(posvx.values);
  expect_operand(operand(p, "dposvx", "equed"), 6, false, true, Triangle::full, 1, 1, 1);
}

TEST(DescriptorOperands, ConsumedOnesComeBackOnlyIfTheyAreResults) {
  const auto a_of = [](char jobz) {
    Arguments a;
    a.flag(jobz).flag('L').dim(4).matrix(4).memory().memory();
    const Operands operands = row("dsyev").operands(a.values);
    return operand(operands, "dsyev", "a");
  };
  // The routine reads a triangle, and writes eigenvectors to the whole matrix.
  const Operand vectors = a_of('V');
  expect_operand(vectors, 3, true, true, Triangle::lower, 4, 4, 8);
  EXPECT_EQ(vectors.written_triangle, Triangle::full);
  EXPECT_FALSE(vectors.consumed);
  const Operand values_only = a_of('N');
  expect_operand(values_only, 3, true, false, Triangle::lower, 4, 4, 8);
  EXPECT_TRUE(values_only.consumed);
  EXPECT_EQ(region_of(vectors, Kind::matrix, 4, true).triangle, Triangle::full);
  EXPECT_EQ(region_of(vectors, Kind::matrix, 4, false).triangle, Triangle::lower);
  EXPECT_TRUE(row("dsyev").rerun);
  EXPECT_FALSE(row("dgesv").rerun);
}

TEST(DescriptorOperands, ShapesAreEmptyWhereFlagsMakeThemSo) {
  Arguments gesvd;
  gesvd.flag('S').flag('N').dim(6).dim(4).matrix(6).memory().matrix(6).matrix(1).memory();
  const Operands o = row("dgesvd").operands(gesvd.values);
  expect_operand(operand(o, "dgesvd", "u"), 6, false, true, Triangle::full, 6, 4, 8);
  EXPECT_EQ(operand(o, "dgesvd", "vt").rows, 0U);
  EXPECT_EQ(operand(o, "dgesvd", "vt").cols, 0U);
  EXPECT_TRUE(operand(o, "dgesvd", "a").consumed);
}

TEST(DescriptorOperands, ConditionsBeyondTheArguments) {
  const auto orgqr = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    Arguments a;
    a.dim(m).dim(n).dim(k).matrix(m).memory().memory();
    return row("dorgqr").legal(a.values, a.lds);
  };
  EXPECT_TRUE(orgqr(5, 4, 3));
  EXPECT_FALSE(orgqr(4, 5, 3));
  EXPECT_FALSE(orgqr(5, 3, 4));
  // An integer of any sign is accepted (il with RANGE = 'A').
  Arguments syevr;
  syevr.flag('N').flag('A').flag('U').dim(3).matrix(3).scalar(0).scalar(0).dim(-7).dim(-9);
  syevr.scalar(0).memory().memory().matrix(1).memory().memory();
  EXPECT_TRUE(row("dsyevr").legal(syevr.values, syevr.lds));
  syevr.values[1].flag = 'I';
  EXPECT_FALSE(row("dsyevr").legal(syevr.values, syevr.lds));
}

TEST(DescriptorOperands, ValuesOfFlagsAndIndices) {
  EXPECT_EQ(values("dgemm", "transa"), "NTC");
  EXPECT_EQ(values("dormqr", "trans"), "NT");
  EXPECT_EQ(values("zunmqr", "trans"), "NC");
  EXPECT_EQ(values("dgees", "sort"), "N");  // 'S' would call a function of the program
  EXPECT_EQ(values("dgetrs", "ipiv"), "pivots");
  EXPECT_EQ(values("dsytrs", "ipiv"), "signed");
  EXPECT_EQ(values("dgeqp3", "jpvt"), "any");
  EXPECT_EQ(values("dgetrf", "ipiv"), "");  // not read
  EXPECT_EQ(values("dgemm", "m"), "");
}

}  // namespace
}  // namespace ob::test
