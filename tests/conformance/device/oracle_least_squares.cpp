// Least squares and minimum-norm solutions. Compares them with solutions from the singular value
// decomposition that the matrix was made from.
//
// Tolerance:
// X - X_ref
// <= 30 n eps (k
// X
// + k^2
// R
// /
// A
// ), where k is the condition and R is the residual. This is Wedin's bound (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd edition, 20.1) with the constant of LAPACK Working Note
// 41. For a rank below the full one, it is the bound for the nearest matrix of that rank.

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 30;
constexpr int kRounds = 12;

// op(A) = U S V^H. Its first `rank` singular values are between 1/2 and 4, the others are 0.
struct Problem {
  Dense a;         // as stored
  Dense of_rows;   // op(A), p x q
  Dense inverted;  // its pseudo-inverse
  Reals values;    // of A, descending
  Real condition = 1;
  std::uint64_t rank = 0;
};

Problem random_problem(RoutineTest& test, Precision precision, std::uint64_t m, std::uint64_t n,
                       char trans, std::uint64_t rank) {
  Problem made;
  made.rank = rank;
  made.values = Reals(std::min(m, n));
  for (std::uint64_t i = 0; i < rank; ++i) made.values[i] = test.uniform(0.5, 4);
  std::sort(made.values.rbegin(), made.values.rend());
  Reals inverted = made.values;
  for (std::uint64_t i = 0; i < rank; ++i) inverted[i] = 1 / inverted[i];
  if (rank > 0) made.condition = made.values[0] / made.values[rank - 1];
  const Dense u = random_unitary(test, precision, m);
  const Dense v = random_unitary(test, precision, n);
  made.a = rounded(precision, u * diagonal(made.values, m, n) * op('C', v));
  made.of_rows = op(trans, made.a);
  made.inverted = v * diagonal(inverted, n, m) * op('C', u);
  if (trans != 'N') made.inverted = op(trans, made.inverted);
  return made;
}

// Returns B with its first p rows filled; the rows below are not read.
Dense right_hand_sides(RoutineTest& test, Precision precision, std::uint64_t rows, std::uint64_t p,
                       std::uint64_t nrhs) {
  Dense b = test.random_matrix(precision, rows, nrhs);
  for (std::uint64_t j = 0; j < nrhs; ++j) {
    for (std::uint64_t i = p; i < rows; ++i) b(i, j) = std::numeric_limits<Real>::quiet_NaN();
  }
  return b;
}

void expect_solution(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                     const Dense& given, const Dense& got, bool residual_below) {
  const std::uint64_t p = problem.of_rows.rows;
  const std::uint64_t q = problem.of_rows.cols;
  const Dense b = block(given, 0, 0, p, given.cols);
  const Dense x = block(got, 0, 0, q, got.cols);
  const Dense right = problem.inverted * b;
  const Dense residual = b - problem.of_rows * x;
  const Real k = problem.condition;
  const Real size =
      k * norm_one(right) + (problem.rank > 0 ? k * k * norm_one(b) / problem.values[0] : 0);
  const Real n = static_cast<Real>(std::max(p, q));
  test.at_most(ratio(x - right, n * size, routine.precision), kRatio, "ratio of the error of X");
  if (!residual_below) return;
  // In each column, the residual's sum of squares is that of the rows below X.
  for (std::uint64_t j = 0; j < got.cols; ++j) {
    const Real below = norm_frobenius(block(got, q, j, p - q, 1));
    const Real whole = norm_frobenius(columns(residual, j, 1));
    test.at_most(ratio(std::abs(below - whole), n * k * norm_one(b), routine.precision), kRatio,
                 "ratio of the error of the residual's norm");
  }
}

// Checks A's triangular factor F from both sides: F^H F = A^H A or F F^H = A A^H.
void expect_triangle(RoutineTest& test, const Descriptor& routine, const Dense& a,
                     const Dense& got) {
  const bool tall = a.rows >= a.cols;
  const std::uint64_t k = std::min(a.rows, a.cols);
  const Dense f = triangular(tall ? 'U' : 'L', 'N', block(got, 0, 0, k, k));
  const Dense error = tall ? op('C', f) * f - op('C', a) * a : f * op('C', f) - a * op('C', a);
  const auto n = static_cast<Real>(std::max(a.rows, a.cols));
  test.at_most(ratio(error, n * norm_one(a) * norm_infinity(a), routine.precision), kRatio,
               "ratio of the triangular factor's square");
}

void check_gels(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"m", test.some_size(20)}, {"n", test.some_size(20)}, {"nrhs", test.some_size(8)}};
      const std::uint64_t m = in.dim("m");
      const std::uint64_t n = in.dim("n");
      const std::uint64_t k = std::min(m, n);
      const Problem problem = random_problem(test, routine.precision, m, n, in.flag("trans"), k);
      const std::uint64_t p = problem.of_rows.rows;
      in.matrices["a"] = problem.a;
      const Dense& b = in.matrices["b"] =
          right_hand_sides(test, routine.precision, std::max(m, n), p, in.dim("nrhs"));
      const RoutineOutput out = test.call(routine, in);
      expect_solution(test, routine, problem, b, out.matrix("b"), p >= problem.of_rows.cols);
      expect_triangle(test, routine, problem.a, out.matrix("a"));
      // A column (row) of zeros gives a zero on the triangular factor's diagonal.
      Dense& a = in.matrices["a"];
      for (std::uint64_t i = 0; i < std::max(m, n); ++i) (m >= n ? a(i, k / 2) : a(k / 2, i)) = 0;
      if (norm_one(a) != 0) test.call(routine, in, static_cast<std::int64_t>(k / 2) + 1);
    }
  }
}

// Expects that the columns of A V are orthogonal and have the singular values as lengths.
void expect_right_vectors(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                          const Dense& vt, const Reals& s) {
  test.at_most(unitarity(op('C', vt), routine.precision), kRatio, "ratio of I - V^H V");
  const Dense av = problem.a * op('C', vt);
  Reals squares = s;
  for (Real& x : squares) x *= x;
  const Real scale =
      static_cast<Real>(problem.a.rows) * norm_one(problem.a) * norm_infinity(problem.a);
  test.at_most(ratio(op('C', av) * av - diagonal(squares), scale, routine.precision), kRatio,
               "ratio of V^H A^H A V - S^2");
}

void expect_singular_values(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                            const Reals& s) {
  test.require(std::is_sorted(s.rbegin(), s.rend()) && s.back() >= 0, "S does not descend to 0");
  const Real n = static_cast<Real>(problem.a.rows + problem.a.cols);
  test.at_most(ratio(column(s) - column(problem.values), n * 4, routine.precision), kRatio,
               "ratio of the error of S");
}

// Expects A P = Q [T 0; 0 0] Z with T upper triangular.
void expect_complete_factor(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                            const RoutineOutput& out) {
  test.require(is_permutation(out.integers("jpvt")), "jpvt is no permutation");
  const Dense t = part(Triangle::upper, block(out.matrix("a"), 0, 0, problem.rank, problem.rank));
  const Real norm = norm_frobenius(problem.a);
  const Real n = static_cast<Real>(std::max(problem.a.rows, problem.a.cols));
  test.at_most(ratio(std::abs(norm_frobenius(t) - norm), n * norm, routine.precision), kRatio,
               "ratio of the change of the norm");
}

// gelsd, gelss, gelsy
void check_any_rank_once(RoutineTest& test, const Descriptor& routine, std::uint64_t rank,
                         std::uint64_t m, std::uint64_t n) {
  RoutineInput in;
  in.dims = {{"m", m}, {"n", n}, {"nrhs", test.some_size(8)}};
  const Problem problem = random_problem(test, routine.precision, m, n, 'N', rank);
  const bool full = rank == std::min(m, n);
  // rcond is below every singular value except 0; a negative rcond is the routine's own choice.
  // With it the columns that gelsy must take first may be nearly dependent.
  const bool any_columns = full && test.random(0, 1) == 0;
  in.scalars["rcond"] = {any_columns ? -1 : 1e-3, 0};
  in.matrices["a"] = problem.a;
  const Dense& b = in.matrices["b"] =
      right_hand_sides(test, routine.precision, std::max(m, n), m, in.dim("nrhs"));
  Integers& jpvt = in.indices["jpvt"] = Integers(n);
  for (std::uint64_t j = 0; any_columns && j < n; ++j)
    jpvt[j] = static_cast<std::int64_t>(test.random(0, 1));
  const RoutineOutput out = test.call(routine, in);
  test.require(
      out.integers("rank")[0] == static_cast<std::int64_t>(rank),
      "rank is " + std::to_string(out.integers("rank")[0]) + ", not " + std::to_string(rank));
  const bool by_values = out.matrices.count("s") != 0;
  expect_solution(test, routine, problem, b, out.matrix("b"), by_values && m >= n && rank == n);
  if (routine.base == "gelsy" && rank > 0) expect_complete_factor(test, routine, problem, out);
  if (by_values) expect_singular_values(test, routine, problem, out.reals("s"));
  // If A is zero or has more columns than rows, the reference LAPACK does not replace A by V^H,
  // although its documentation says so.
  if (routine.base == "gelss" && m >= n && rank > 0) {
    expect_right_vectors(test, routine, problem, block(out.matrix("a"), 0, 0, n, n),
                         out.reals("s"));
  }
}

void check_any_rank(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 3 * kRounds; ++round) {
    const auto m = static_cast<std::uint64_t>(test.some_size(20));
    const auto n = static_cast<std::uint64_t>(round % 4 == 0 ? m : test.some_size(20));
    const std::uint64_t k = std::min(m, n);
    check_any_rank_once(test, routine, round % 3 == 0 ? k : test.random(0, k), m, n);
  }
  // These sizes exceed 25, from which divide and conquer divides, and use the paths of long shapes.
  for (const auto& [m, n] : {std::pair{60, 35}, {35, 60}, {90, 30}, {30, 90}}) {
    check_any_rank_once(test, routine, 28, static_cast<std::uint64_t>(m),
                        static_cast<std::uint64_t>(n));
  }
}

constexpr Oracle kOracles[] = {
    {"gels", check_gels},
    {"gelsd", check_any_rank},
    {"gelss", check_any_rank},
    {"gelsy", check_any_rank},
};

}  // namespace

Oracles least_squares_oracles() { return kOracles; }

}  // namespace ob::test
