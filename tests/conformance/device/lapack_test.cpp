// LAPACK by residuals in long double.
//
// Tolerance: |residual|_ij <= 8 (n + 2) eps (|L| |U| ...)_ij: the componentwise backward errors of
// elimination, Cholesky and triangular solves (Higham, Accuracy and Stability of Numerical
// Algorithms, 9.3, 9.4, 10.3).

#include <algorithm>
#include <limits>

#include "conformance/device/routine_run.hpp"

namespace ob::test {
namespace {

constexpr long double kTolerance = 8;

using Pivots = std::vector<std::int64_t>;

Dense lower_unit(const Dense& lu) {
  const std::uint64_t r = std::min(lu.rows, lu.cols);
  Dense l(lu.rows, r);
  for (std::uint64_t j = 0; j < r; ++j) {
    l(j, j) = 1;
    for (std::uint64_t i = j + 1; i < lu.rows; ++i) l(i, j) = lu(i, j);
  }
  return l;
}

Dense upper(const Dense& lu) {
  Dense u(std::min(lu.rows, lu.cols), lu.cols);
  for (std::uint64_t j = 0; j < lu.cols; ++j) {
    for (std::uint64_t i = 0; i < std::min(j + 1, u.rows); ++i) u(i, j) = lu(i, j);
  }
  return u;
}

void swap_rows(Dense& a, std::uint64_t i, std::uint64_t k) {
  for (std::uint64_t j = 0; j < a.cols; ++j) std::swap(a(i, j), a(k, j));
}

// P A: the exchanges in the order getrf made them.
Dense exchanged(Dense a, const Pivots& pivots) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    swap_rows(a, i, static_cast<std::uint64_t>(pivots[i] - 1));
  }
  return a;
}

// P^T A.
Dense exchanged_back(Dense a, const Pivots& pivots) {
  for (std::size_t i = pivots.size(); i-- > 0;) {
    swap_rows(a, i, static_cast<std::uint64_t>(pivots[i] - 1));
  }
  return a;
}

bool pivots_in_range(const Pivots& pivots, std::uint64_t rows) {
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    const std::int64_t p = pivots[i];
    if (p < static_cast<std::int64_t>(i + 1) || p > static_cast<std::int64_t>(rows)) return false;
  }
  return true;
}

Dense rounded(Precision precision, Dense a) {
  for (Wide& x : a.elements) {
    std::byte memory[16];
    store(precision, memory, x);
    x = load(precision, memory);
  }
  return a;
}

class LapackTest : public RoutineTest {
 protected:
  std::int64_t some_size() {
    return static_cast<std::int64_t>(random(0, 2) == 0 ? random(1, 4) : random(5, 70));
  }

  void expect_small(const Dense& error, const Dense& size, std::uint64_t n, Precision precision,
                    const std::string& what, Triangle triangle = Triangle::full) {
    const long double limit = kTolerance * static_cast<long double>(n + 2) * epsilon(precision);
    EXPECT_LE(worst_ratio(error, size, triangle), limit) << what;
  }

  void expect_factors(const Descriptor& routine, const Dense& a, const RoutineOutput& out) {
    const Dense& lu = out.matrices.at("a");
    const Pivots& pivots = out.indices.at("ipiv");
    ASSERT_TRUE(pivots_in_range(pivots, a.rows)) << routine.name;
    const Dense l = lower_unit(lu);
    const Dense u = upper(lu);
    expect_small(l * u - exchanged(a, pivots), abs(l) * abs(u), u.rows, routine.precision,
                 std::string(routine.name) + " factors");
  }

  // A well-conditioned triangle with a positive real diagonal: a Cholesky factor.
  Dense factor(char uplo, Precision precision, std::uint64_t n) {
    Dense f = triangular(uplo, 'N', random_matrix(precision, n, n));
    for (std::uint64_t j = 0; j < n; ++j) {
      for (std::uint64_t i = 0; i < n; ++i) {
        f(i, j) = i == j ? Wide(1.5L + f(i, j).real() / 2) : f(i, j) / static_cast<long double>(n);
      }
    }
    return rounded(precision, f);
  }

  static Dense from_factor(char uplo, const Dense& f) {
    return uplo == 'U' ? op('C', f) * f : f * op('C', f);
  }
  static Dense size_of_factor(char uplo, const Dense& f) { return from_factor(uplo, abs(f)); }
};

TEST_P(LapackTest, GetrfFactorsMatrices) {
  for (const Descriptor* routine : routines_named("getrf")) {
    for (int round = 0; round < 25; ++round) {
      RoutineInput in;
      in.dims = {{"m", some_size()}, {"n", some_size()}};
      in.matrices["a"] = random_matrix(routine->precision, static_cast<std::uint64_t>(in.dims["m"]),
                                       static_cast<std::uint64_t>(in.dims["n"]));
      const RoutineOutput out = run(*routine, in);
      ASSERT_TRUE(out.status.ok()) << out.status.message();
      EXPECT_EQ(out.damage, "");
      EXPECT_EQ(out.info, 0);
      ASSERT_NO_FATAL_FAILURE(expect_factors(*routine, in.matrices["a"], out));
    }
  }
}

TEST_P(LapackTest, GetrfReportsASingularMatrix) {
  for (const Descriptor* routine : routines_named("getrf")) {
    RoutineInput in;
    in.dims = {{"m", 9}, {"n", 9}};
    Dense& a = in.matrices["a"] = random_matrix(routine->precision, 9, 9);
    for (std::uint64_t i = 0; i < 9; ++i) a(i, 3) = 0;  // the fourth pivot is exactly zero
    const RoutineOutput out = run(*routine, in);
    ASSERT_TRUE(out.status.ok()) << out.status.message();
    EXPECT_EQ(out.info, 4);
    EXPECT_EQ(out.damage, "");
    ASSERT_NO_FATAL_FAILURE(expect_factors(*routine, a, out));
  }
}

TEST_P(LapackTest, GesvSolves) {
  for (const Descriptor* routine : routines_named("gesv")) {
    for (int round = 0; round < 25; ++round) {
      RoutineInput in;
      in.dims = {{"n", some_size()}, {"nrhs", some_size()}};
      const auto n = static_cast<std::uint64_t>(in.dims["n"]);
      in.matrices["a"] = random_matrix(routine->precision, n, n);
      in.matrices["b"] =
          random_matrix(routine->precision, n, static_cast<std::uint64_t>(in.dims["nrhs"]));
      const RoutineOutput out = run(*routine, in);
      ASSERT_TRUE(out.status.ok()) << out.status.message();
      EXPECT_EQ(out.damage, "");
      EXPECT_EQ(out.info, 0);
      ASSERT_NO_FATAL_FAILURE(expect_factors(*routine, in.matrices["a"], out));
      const Dense& x = out.matrices.at("b");
      const Dense& lu = out.matrices.at("a");
      const Dense grown =
          exchanged_back(abs(lower_unit(lu)) * abs(upper(lu)), out.indices.at("ipiv")) * abs(x);
      expect_small(in.matrices["a"] * x - in.matrices["b"], grown + abs(in.matrices["b"]), 3 * n,
                   routine->precision, std::string(routine->name) + " solution");
    }
  }
}

TEST_P(LapackTest, GesvLeavesTheRightHandSideOfASingularSystem) {
  for (const Descriptor* routine : routines_named("gesv")) {
    RoutineInput in;
    in.dims = {{"n", 5}, {"nrhs", 2}};
    Dense& a = in.matrices["a"] = random_matrix(routine->precision, 5, 5);
    for (std::uint64_t i = 0; i < 5; ++i) a(i, 1) = 0;
    in.matrices["b"] = random_matrix(routine->precision, 5, 2);
    const RoutineOutput out = run(*routine, in);
    ASSERT_TRUE(out.status.ok()) << out.status.message();
    EXPECT_EQ(out.info, 2);
    EXPECT_EQ(out.matrices.at("b").elements, in.matrices["b"].elements);
  }
}

TEST_P(LapackTest, GetrsSolvesWithGivenFactors) {
  for (const Descriptor* routine : routines_named("getrs")) {
    for (RoutineInput in : flag_combinations(*routine)) {
      for (int round = 0; round < 8; ++round) {
        in.dims = {{"n", some_size()}, {"nrhs", some_size()}};
        const auto n = static_cast<std::uint64_t>(in.dims["n"]);
        // Factors made here, not by the device: unit lower, well-conditioned upper, any exchanges.
        Dense lu = factor('U', routine->precision, n);
        const Dense below = triangular('L', 'U', random_matrix(routine->precision, n, n));
        for (std::uint64_t j = 0; j < n; ++j) {
          for (std::uint64_t i = j + 1; i < n; ++i)
            lu(i, j) = below(i, j) / static_cast<long double>(n);
        }
        lu = rounded(routine->precision, lu);
        Pivots& pivots = in.indices["ipiv"] = Pivots(n);
        for (std::uint64_t i = 0; i < n; ++i)
          pivots[i] = static_cast<std::int64_t>(random(i + 1, n));
        in.matrices["a"] = lu;
        const Dense& b = in.matrices["b"] =
            random_matrix(routine->precision, n, static_cast<std::uint64_t>(in.dims["nrhs"]));
        const RoutineOutput out = run(*routine, in);
        const std::string what = std::string(routine->name) + " " + in.describe();
        ASSERT_TRUE(out.status.ok()) << what << out.status.message();
        EXPECT_EQ(out.damage, "") << what;
        EXPECT_EQ(out.info, 0) << what;
        const char trans = in.flags["trans"];
        const Dense a = op(trans, exchanged_back(lower_unit(lu) * upper(lu), pivots));
        const Dense grown = op(trans, exchanged_back(abs(lower_unit(lu)) * abs(upper(lu)), pivots));
        const Dense& x = out.matrices.at("b");
        expect_small(a * x - b, grown * abs(x) + abs(b), 2 * n, routine->precision, what);
      }
    }
  }
}

TEST_P(LapackTest, GetrsRefusesPivotsOutsideTheMatrix) {
  const Descriptor* routine = routines::find("dgetrs");
  ASSERT_NE(routine, nullptr);
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32 | 1}) {
    RoutineInput in;
    in.flags = {{"trans", 'N'}};
    in.dims = {{"n", 3}, {"nrhs", 1}};
    in.matrices["a"] = factor('U', Precision::d, 3);
    in.matrices["b"] = random_matrix(Precision::d, 3, 1);
    in.indices["ipiv"] = {1, bad, 3};
    EXPECT_EQ(run(*routine, in).status.code(), Code::invalid_argument) << bad;
  }
}

TEST_P(LapackTest, PotrfFactorsPositiveMatrices) {
  for (const Descriptor* routine : routines_named("potrf")) {
    for (RoutineInput in : flag_combinations(*routine)) {
      for (int round = 0; round < 12; ++round) {
        in.dims = {{"n", some_size()}};
        const auto n = static_cast<std::uint64_t>(in.dims["n"]);
        const char uplo = in.flags["uplo"];
        const Dense a =
            rounded(routine->precision, from_factor(uplo, factor(uplo, routine->precision, n)));
        in.matrices["a"] = a;
        const RoutineOutput out = run(*routine, in);
        const std::string what = std::string(routine->name) + " " + in.describe();
        ASSERT_TRUE(out.status.ok()) << what << out.status.message();
        EXPECT_EQ(out.damage, "") << what;
        EXPECT_EQ(out.info, 0) << what;
        const Dense f = triangular(uplo, 'N', out.matrices.at("a"));
        expect_small(from_factor(uplo, f) - a, size_of_factor(uplo, f), n, routine->precision, what,
                     uplo == 'U' ? Triangle::upper : Triangle::lower);
      }
    }
  }
}

TEST_P(LapackTest, PotrfReportsTheMinorThatIsNotPositive) {
  for (const Descriptor* routine : routines_named("potrf")) {
    for (RoutineInput in : flag_combinations(*routine)) {
      in.dims = {{"n", 12}};
      Dense a = identity(12);
      a(6, 6) = -1;
      in.matrices["a"] = a;
      const RoutineOutput out = run(*routine, in);
      ASSERT_TRUE(out.status.ok()) << out.status.message();
      EXPECT_EQ(out.info, 7) << routine->name << " " << in.describe();
      EXPECT_EQ(out.damage, "");
    }
  }
}

TEST_P(LapackTest, PotrsSolvesWithGivenFactors) {
  for (const Descriptor* routine : routines_named("potrs")) {
    for (RoutineInput in : flag_combinations(*routine)) {
      for (int round = 0; round < 8; ++round) {
        in.dims = {{"n", some_size()}, {"nrhs", some_size()}};
        const auto n = static_cast<std::uint64_t>(in.dims["n"]);
        const char uplo = in.flags["uplo"];
        const Dense& f = in.matrices["a"] = factor(uplo, routine->precision, n);
        const Dense& b = in.matrices["b"] =
            random_matrix(routine->precision, n, static_cast<std::uint64_t>(in.dims["nrhs"]));
        const RoutineOutput out = run(*routine, in);
        const std::string what = std::string(routine->name) + " " + in.describe();
        ASSERT_TRUE(out.status.ok()) << what << out.status.message();
        EXPECT_EQ(out.damage, "") << what;
        EXPECT_EQ(out.info, 0) << what;
        const Dense& x = out.matrices.at("b");
        expect_small(from_factor(uplo, f) * x - b, size_of_factor(uplo, f) * abs(x) + abs(b), 2 * n,
                     routine->precision, what);
      }
    }
  }
}

OB_OVER_ALL_DEVICES(LapackTest);

}  // namespace
}  // namespace ob::test
