// LU, Cholesky and triangular systems. Factors and solutions are checked by componentwise backward
// errors |A - L U|_ij <= c n eps (|L| |U|)_ij and similar bounds (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd edition, 8.2, 9.3, 9.4, 10.3), inverses by
// I - A A^-1
// / (n
// A
// A^-1
// eps) (LAPACK Working Note 41, the ratio of DGET03, below 30).

#include <algorithm>

#include "conformance/device/algebra.hpp"
#include "conformance/device/lu.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kTolerance = 8;
constexpr Real kInverseRatio = 30;
constexpr int kRounds = 8;

void expect_small(RoutineTest& test, const Descriptor& routine, const Dense& error,
                  const Dense& size, std::uint64_t n, const char* what,
                  Triangle triangle = Triangle::full) {
  test.at_most(worst_ratio(error, size, triangle),
               kTolerance * static_cast<Real>(n + 2) * epsilon(routine.precision), what);
}

void expect_inverse(RoutineTest& test, const Descriptor& routine, const Dense& a,
                    const Dense& inverse) {
  const Dense error = identity(a.rows) - a * inverse;
  test.at_most(
      ratio(error, static_cast<Real>(a.rows) * norm_one(a) * norm_one(inverse), routine.precision),
      kInverseRatio, "ratio of I - A A^-1");
}

void expect_factors(RoutineTest& test, const Descriptor& routine, const Dense& a,
                    const RoutineOutput& out) {
  const Integers& pivots = out.integers("ipiv");
  test.require(pivots_are_exchanges(pivots, a.rows), "a pivot is outside the rows left");
  const Dense& lu = out.matrix("a");
  expect_small(test, routine, lower_factor(lu) * upper_factor(lu) - exchanged(a, pivots),
               abs(lower_factor(lu)) * abs(upper_factor(lu)), std::min(a.rows, a.cols),
               "error of the factors");
}

void check_getrf(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 4 * kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"m", test.some_size(60)}, {"n", test.some_size(60)}};
    Dense& a = in.matrices["a"] = test.random_matrix(routine.precision, in.dim("m"), in.dim("n"));
    expect_factors(test, routine, a, test.call(routine, in));
    if (a.rows < 4 || a.cols < 4) continue;
    for (std::uint64_t i = 0; i < a.rows; ++i) a(i, 2) = 0;  // the third pivot is exactly zero
    expect_factors(test, routine, a, test.call(routine, in, 3));
  }
}

void check_gesv(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
    const std::uint64_t n = in.dim("n");
    Dense& a = in.matrices["a"] = test.random_matrix(routine.precision, n, n);
    const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
    const RoutineOutput out = test.call(routine, in);
    expect_factors(test, routine, a, out);
    const Dense& x = out.matrix("b");
    const Dense grown =
        exchanged_back(product_of_sizes(out.matrix("a")), out.integers("ipiv")) * abs(x);
    expect_small(test, routine, a * x - b, grown + abs(b), 3 * n, "residual");
    if (n < 4) continue;
    for (std::uint64_t i = 0; i < n; ++i) a(i, 1) = 0;
    const RoutineOutput singular = test.call(routine, in, 2);
    expect_factors(test, routine, a, singular);
    test.require(singular.matrix("b").elements == b.elements,
                 "the right-hand side of a singular system changed");
  }
}

void check_getrs(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const Dense& lu = in.matrices["a"] = random_lu(test, routine.precision, n);
      const Integers& pivots = in.indices["ipiv"] = random_exchanges(test, n);
      const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
      const RoutineOutput out = test.call(routine, in);
      const Dense a = op(in.flag("trans"), matrix_of(lu, pivots));
      const Dense grown = op(in.flag("trans"), exchanged_back(product_of_sizes(lu), pivots));
      const Dense& x = out.matrix("b");
      expect_small(test, routine, a * x - b, grown * abs(x) + abs(b), 2 * n, "residual");
    }
  }
  RoutineInput bad = test.flag_combinations(routine).front();
  bad.dims = {{"n", 3}, {"nrhs", 1}};
  bad.matrices["a"] = random_lu(test, routine.precision, 3);
  bad.matrices["b"] = test.random_matrix(routine.precision, 3, 1);
  for (const std::int64_t pivot :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32 | 1}) {
    bad.indices["ipiv"] = {1, pivot, 3};
    test.require(test.run(routine, bad).status.code() == Code::invalid_argument,
                 "pivot " + std::to_string(pivot) + " of 3 x 3 is not refused");
  }
}

void check_getri(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"n", test.some_size()}};
    const std::uint64_t n = in.dim("n");
    Dense& lu = in.matrices["a"] = random_lu(test, routine.precision, n);
    const Integers& pivots = in.indices["ipiv"] = random_exchanges(test, n);
    const RoutineOutput out = test.call(routine, in);
    expect_inverse(test, routine, matrix_of(lu, pivots), out.matrix("a"));
    lu(n / 2, n / 2) = 0;
    test.call(routine, in, static_cast<std::int64_t>(n / 2) + 1);
  }
}

// Returns F^H F or F F^H.
Dense from_factor(char uplo, const Dense& f) {
  return uplo == 'U' ? op('C', f) * f : f * op('C', f);
}

Dense size_of_factor(char uplo, const Dense& f) { return from_factor(uplo, abs(f)); }

// This function sets a positive definite matrix. The next one sets a matrix whose fourth leading
// minor is not positive.
void set_positive(RoutineTest& test, const Descriptor& routine, RoutineInput& in) {
  in.matrices["a"] = random_positive(test, routine.precision, in.dim("n"));
}

void set_indefinite(RoutineInput& in) {
  Dense& a = in.matrices["a"];
  a = identity(a.rows);
  a(3, 3) = -1;
}

void expect_cholesky(RoutineTest& test, const Descriptor& routine, const RoutineInput& in,
                     const Dense& got) {
  const char uplo = in.flag("uplo");
  const Dense f = triangular(uplo, 'N', got);
  expect_small(test, routine, from_factor(uplo, f) - in.matrices.at("a"), size_of_factor(uplo, f),
               f.rows, "error of the factor", triangle_of(uplo));
}

void check_potrf(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}};
      set_positive(test, routine, in);
      expect_cholesky(test, routine, in, test.call(routine, in).matrix("a"));
      if (in.dim("n") < 4) continue;
      set_indefinite(in);
      test.call(routine, in, 4);
    }
  }
}

void check_posv(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      set_positive(test, routine, in);
      const Dense& b = in.matrices["b"] =
          test.random_matrix(routine.precision, in.dim("n"), in.dim("nrhs"));
      const RoutineOutput out = test.call(routine, in);
      expect_cholesky(test, routine, in, out.matrix("a"));
      const char uplo = in.flag("uplo");
      const Dense grown = size_of_factor(uplo, triangular(uplo, 'N', out.matrix("a")));
      const Dense& x = out.matrix("b");
      expect_small(test, routine, in.matrices["a"] * x - b, grown * abs(x) + abs(b), 3 * b.rows,
                   "residual");
      if (in.dim("n") < 4) continue;
      set_indefinite(in);
      test.require(test.call(routine, in, 4).matrix("b").elements == b.elements,
                   "the right-hand side changed although there is no factor");
    }
  }
}

void check_potrs(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const char uplo = in.flag("uplo");
      const Dense& f = in.matrices["a"] = random_triangle(test, uplo, routine.precision, n);
      const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
      const Dense x = test.call(routine, in).matrix("b");
      expect_small(test, routine, from_factor(uplo, f) * x - b,
                   size_of_factor(uplo, f) * abs(x) + abs(b), 2 * n, "residual");
    }
  }
}

void check_potri(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const char uplo = in.flag("uplo");
      Dense& f = in.matrices["a"] = random_triangle(test, uplo, routine.precision, n);
      const RoutineOutput out = test.call(routine, in);
      expect_inverse(test, routine, from_factor(uplo, f), hermitian(uplo, out.matrix("a")));
      f(n / 2, n / 2) = 0;
      test.call(routine, in, static_cast<std::int64_t>(n / 2) + 1);
    }
  }
}

void check_trtri(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const char uplo = in.flag("uplo");
      const char diag = in.flag("diag");
      Dense& a = in.matrices["a"] = random_triangle(test, uplo, routine.precision, n);
      const RoutineOutput out = test.call(routine, in);
      expect_inverse(test, routine, triangular(uplo, diag, a),
                     triangular(uplo, diag, out.matrix("a")));
      if (diag == 'U') continue;
      a(n / 2, n / 2) = 0;
      test.call(routine, in, static_cast<std::int64_t>(n / 2) + 1);
    }
  }
}

void check_trtrs(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds / 2; ++round) {
      in.dims = {{"n", test.some_size()}, {"nrhs", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      Dense& f = in.matrices["a"] = random_triangle(test, in.flag("uplo"), routine.precision, n);
      const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
      const Dense x = test.call(routine, in).matrix("b");
      const Dense a = op(in.flag("trans"), triangular(in.flag("uplo"), in.flag("diag"), f));
      expect_small(test, routine, a * x - b, abs(a) * abs(x) + abs(b), n, "residual");
      if (in.flag("diag") == 'U') continue;
      f(n / 2, n / 2) = 0;
      test.require(
          test.call(routine, in, static_cast<std::int64_t>(n / 2) + 1).matrix("b").elements ==
              b.elements,
          "the right-hand side of a singular system changed");
    }
  }
}

constexpr Oracle kOracles[] = {
    {"gesv", check_gesv},   {"getrf", check_getrf}, {"getrs", check_getrs}, {"getri", check_getri},
    {"potrf", check_potrf}, {"posv", check_posv},   {"potrs", check_potrs}, {"potri", check_potri},
    {"trtri", check_trtri}, {"trtrs", check_trtrs},
};

}  // namespace

Oracles solve_oracles() { return kOracles; }

}  // namespace ob::test
