// gesvx and posvx: checks their reports about their own results. The ratios are those of LAPACK
// Working Note 41, below 30: DGET06 (condition estimate over the true value), DGET07 (true error
// over its bound, and the backward error in units of (n + 1) eps).

#include <algorithm>
#include <cmath>

#include "conformance/device/algebra.hpp"
#include "conformance/device/lu.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 30;
constexpr int kRounds = 10;

// One system op(A) X = B, and the factored matrix: left * A * right.
struct System {
  Dense a;       // op(A)
  Dense scaled;  // equilibrated, without op
  char trans = 'N';
  Real spread = 1;  // of the scale factors that multiply X
};

Real spread_of(const Reals& factors) {
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  return *most / *least;
}

void expect_backward_errors(RoutineTest& test, const Descriptor& routine, const System& system,
                            const Dense& b, const RoutineOutput& out) {
  const Dense& x = out.matrix("x");
  const Dense residual = abs(system.a * x - b);
  const Dense size = abs(system.a) * abs(x) + abs(b);
  const Real step = static_cast<Real>(b.rows + 1) * unit_roundoff(routine.precision);
  const Reals reported = out.reals("berr");
  for (std::uint64_t j = 0; j < b.cols; ++j) {
    // Scaling of rows or columns does not change berr (Higham, Accuracy and Stability, 7.2).
    const Real berr = worst_ratio(columns(residual, j, 1), columns(size, j, 1));
    test.at_most(berr, kRatio * step, "backward error");
    // Both residuals are sums of n + 1 terms, one in long double.
    test.at_most(std::abs(berr - reported[j]), 4 * step, "error of berr");
  }
}

void expect_forward_errors(RoutineTest& test, const Descriptor& routine, const System& system,
                           const Dense& b, const RoutineOutput& out, Real condition) {
  const Dense right = solve(system.a, b);
  const Dense& x = out.matrix("x");
  const Reals reported = out.reals("ferr");
  const Real large = kRatio * static_cast<Real>(b.rows + 1) * unit_roundoff(routine.precision) *
                     condition * system.spread;
  for (std::uint64_t j = 0; j < b.cols; ++j) {
    const Real error = norm_max(columns(x - right, j, 1)) / norm_max(columns(x, j, 1));
    test.at_most(error, kRatio * reported[j], "forward error over ferr");
    test.at_most(reported[j], large, "ferr");
  }
}

void expect_all(RoutineTest& test, const Descriptor& routine, const System& system, const Dense& b,
                const RoutineOutput& out) {
  const Dense inverted = inverse(system.scaled);
  const bool rows = system.trans != 'N';  // selects the norm that fits the system
  const Real condition = rows ? norm_infinity(system.scaled) * norm_infinity(inverted)
                              : norm_one(system.scaled) * norm_one(inverted);
  const Real rcond = out.real("rcond");
  test.at_most(rcond * condition, kRatio, "estimate over the true rcond");
  test.at_most(1 / (rcond * condition), 1.1L, "true rcond over its estimate, an upper bound");
  expect_backward_errors(test, routine, system, b, out);
  expect_forward_errors(test, routine, system, b, out, condition);
}

void expect_scaled(RoutineTest& test, const Descriptor& routine, const Dense& got,
                   const Dense& right, const char* what, Triangle triangle = Triangle::full) {
  test.at_most(worst_ratio(got - right, abs(right), triangle), 4 * epsilon(routine.precision),
               what);
}

Reals ones(std::uint64_t n) { return Reals(n, 1); }

// Returns random factors from 1 to 10^exponent.
Dense random_scales(RoutineTest& test, std::uint64_t n, double exponent) {
  Reals scales(n);
  for (Real& s : scales) s = std::pow(Real{10}, test.uniform(0, exponent));
  return diagonal(scales);
}

// Returns an exponent that makes scaling necessary, or one that does not.
double exponent(bool wide) { return wide ? 3 : 0; }

void check_gesvx_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  in.dims = {{"n", test.some_size(20)}, {"nrhs", test.some_size(6)}};
  const std::uint64_t n = in.dim("n");
  const Dense& a = in.matrices["a"] =
      rounded(routine.precision,
              random_scales(test, n, exponent(round & 1)) *
                  matrix_of(random_lu(test, routine.precision, n), random_exchanges(test, n)) *
                  random_scales(test, n, exponent(round & 2)));
  const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
  const RoutineOutput out = test.call(routine, in);
  const char equed = out.characters.at("equed");
  const bool equilibrate = in.flag("fact") == 'E';
  test.require(std::string_view(equilibrate ? "NRCB" : "N").find(equed) != std::string_view::npos,
               std::string("equed is ") + equed);
  const Reals r = equed == 'R' || equed == 'B' ? out.reals("r") : ones(n);
  const Reals c = equed == 'C' || equed == 'B' ? out.reals("c") : ones(n);
  const char trans = in.flag("trans");
  const Reals& of_x = trans == 'N' ? c : r;
  System system{op(trans, a), diagonal(r) * a * diagonal(c), trans, spread_of(of_x)};
  if (equilibrate) {
    expect_scaled(test, routine, out.matrix("a"), system.scaled, "error of the scaled A");
    expect_scaled(test, routine, out.matrix("b"), diagonal(trans == 'N' ? r : c) * b,
                  "error of the scaled B");
    system.scaled = out.matrix("a");
    // If both were scaled, the largest element of each row and column is near 1 (|Re| + |Im|).
    if (equed == 'B') test.at_most(norm_max(system.scaled), 1.01L, "largest scaled element");
  }
  test.require(pivots_are_exchanges(out.integers("ipiv"), n), "a pivot is outside the rows left");
  const Dense& lu = out.matrix("af");
  const Dense error =
      lower_factor(lu) * upper_factor(lu) - exchanged(system.scaled, out.integers("ipiv"));
  test.at_most(ratio(error, static_cast<Real>(n) * norm_one(system.scaled), routine.precision),
               kRatio, "ratio of P A - L U");
  const char* const growth = is_complex(routine.precision) ? "rwork" : "work";
  const Real right = norm_max(system.scaled) / norm_max(upper_factor(lu));
  test.at_most(std::abs(out.real(growth) - right), 8 * epsilon(routine.precision) * right,
               "error of the reciprocal pivot growth");
  expect_all(test, routine, system, b, out);
}

// All elements are 1, except one on the diagonal that is slightly larger.
Dense nearly_singular(Precision precision) {
  Dense a(2, 2);
  a(0, 0) = a(0, 1) = a(1, 0) = 1;
  a(1, 1) = 1 + epsilon(precision);
  return a;
}

void check_failures(RoutineTest& test, const Descriptor& routine, RoutineInput in) {
  in.dims = {{"n", 2}, {"nrhs", 1}};
  in.matrices["a"] = nearly_singular(routine.precision);
  in.matrices["b"] = test.random_matrix(routine.precision, 2, 1);
  test.call(routine, in, 3);  // solved, but rcond < eps
  in.matrices["a"] = identity(2);
  in.matrices["a"](1, 1) = 0;
  test.call(routine, in, 2);
}

void check_gesvx(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) check_gesvx_once(test, routine, in, round);
    check_failures(test, routine, in);
  }
}

void check_posvx_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  in.dims = {{"n", test.some_size(20)}, {"nrhs", test.some_size(6)}};
  const std::uint64_t n = in.dim("n");
  const char uplo = in.flag("uplo");
  const Dense scales = random_scales(test, n, exponent(round & 1));
  const Dense& a = in.matrices["a"] =
      rounded(routine.precision,
              hermitian('U', scales * random_positive(test, routine.precision, n) * scales));
  const Dense& b = in.matrices["b"] = test.random_matrix(routine.precision, n, in.dim("nrhs"));
  const RoutineOutput out = test.call(routine, in);
  const char equed = out.characters.at("equed");
  const bool equilibrate = in.flag("fact") == 'E';
  test.require(equed == 'N' || (equilibrate && equed == 'Y'), std::string("equed is ") + equed);
  const Reals s = equed == 'Y' ? out.reals("s") : ones(n);
  System system{a, diagonal(s) * a * diagonal(s), 'N', spread_of(s)};
  if (equilibrate) {
    expect_scaled(test, routine, out.matrix("a"), system.scaled, "error of the scaled A",
                  triangle_of(uplo));
    expect_scaled(test, routine, out.matrix("b"), diagonal(s) * b, "error of the scaled B");
    system.scaled = hermitian(uplo, out.matrix("a"));
    for (std::uint64_t i = 0; equed == 'Y' && i < n; ++i) {
      test.at_most(std::abs(system.scaled(i, i) - Wide(1)), 8 * epsilon(routine.precision),
                   "a scaled diagonal's distance from 1");
    }
  }
  const Dense f = triangular(uplo, 'N', out.matrix("af"));
  const Dense error = (uplo == 'U' ? op('C', f) * f : f * op('C', f)) - system.scaled;
  test.at_most(ratio(error, static_cast<Real>(n) * norm_one(system.scaled), routine.precision),
               kRatio, "ratio of A - F F^H");
  expect_all(test, routine, system, b, out);
}

void check_posvx(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) check_posvx_once(test, routine, in, round);
    check_failures(test, routine, in);
  }
}

constexpr Oracle kOracles[] = {{"gesvx", check_gesvx}, {"posvx", check_posvx}};

}  // namespace

Oracles expert_solve_oracles() { return kOracles; }

}  // namespace ob::test
