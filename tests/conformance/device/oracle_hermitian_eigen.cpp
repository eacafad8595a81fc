// Symmetric and Hermitian eigenvalue problems, standard and generalized. Matrices are made from
// their eigenvalues.
//
// The ratios are those of LAPACK Working Note 41 and its file sep.in, below 50 (its ULP is twice
// the eps here): norm(A Z - Z W) / (n norm(A) eps) and norm(I - Z^H Z) / (n eps), for generalized
// problems those of DSGT01. The error of an eigenvalue is at most c n eps norm(A) (LAPACK Users'
// Guide, 3rd edition, 4.7), or c n eps (norm(A) norm(B^-1) + cond(B) |w|) and similar bounds for
// types 2 and 3 (4.10).

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 100;
// Relatively robust representations accept relative gaps of 1e-3 between eigenvalues, and inverse
// iteration makes vectors orthogonal only where gaps are below 1e-3 norm(A). So vectors may be
// orthogonal only up to n eps / 1e-3 (Dhillon, Parlett and Voemel, The Design and Implementation of
// the MRRR Algorithm, ACM TOMS 32, 2006, 2; DSTEIN's documentation). A tenth of this bound is
// enough.
constexpr Real kGapRatio = 10 * kRatio;
constexpr int kRounds = 6;

// A problem A Z = B Z W, or one of the other types, with known values.
struct Problem {
  int type = 0;  // itype; 0: without B
  Dense a;
  Dense b;
  Reals values;     // ascending
  Real spread = 1;  // cond(B)
};

// Sets whole matrices; run() writes only the triangle that is read.
void set_matrices(const Problem& problem, RoutineInput& in) {
  in.matrices["a"] = problem.a;
  if (problem.type != 0) in.matrices["b"] = problem.b;
}

// Makes a Hermitian C with the wanted values. A is C, F C F^H (B = F F^H), or F^-H C F^-1.
Problem random_problem(RoutineTest& test, Precision precision, std::uint64_t n, int type,
                       int spectrum) {
  Problem made;
  made.type = type;
  made.values = random_spectrum(test, n, spectrum);
  std::sort(made.values.begin(), made.values.end());
  made.a = random_hermitian(test, precision, made.values);
  if (type == 0) return made;
  const Dense f = random_triangle(test, 'L', precision, n);
  const Dense g = type == 1 ? f : op('C', inverse(f));
  made.a = rounded(precision, hermitian('U', g * made.a * op('C', g)));
  made.b = rounded(precision, hermitian('U', f * op('C', f)));
  made.spread = norm_one(made.b) * norm_one(inverse(made.b));
  return made;
}

void expect_values(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                   const Reals& w, std::uint64_t first, std::uint64_t count) {
  const Real n = static_cast<Real>(problem.a.rows);
  const Real size = std::max(std::abs(problem.values.front()), std::abs(problem.values.back()));
  for (std::uint64_t i = 0; i < count; ++i) {
    test.require(i == 0 || w[i - 1] <= w[i], "eigenvalues do not ascend");
    const Real error = std::abs(w[i] - problem.values[first + i]);
    // The norms of A and B in the bound are at most n times those of their values.
    test.at_most(ratio(error, n * problem.spread * size, routine.precision), kRatio,
                 "ratio of an eigenvalue's error");
  }
}

void expect_vectors(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                    const Reals& w, const Dense& z) {
  const Dense zw = z * diagonal(Reals(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(z.cols)));
  const Real n = static_cast<Real>(z.rows);
  Dense error;
  Dense gram = op('C', z) * z;
  Real size = norm_one(problem.a);
  switch (problem.type) {
    case 0: error = problem.a * z - zw; break;
    case 1: error = problem.a * z - problem.b * zw; break;
    case 2: error = problem.a * (problem.b * z) - zw; break;
    default: error = problem.b * (problem.a * z) - zw; break;
  }
  if (problem.type > 1) size *= norm_one(problem.b);
  if (problem.type == 1 || problem.type == 2) gram = op('C', z) * (problem.b * z);
  if (problem.type == 3) gram = op('C', z) * solve(problem.b, z);
  size *= problem.spread * std::max<Real>(1, norm_one(z));
  test.at_most(ratio(error, n * size, routine.precision), kRatio, "ratio of A Z - Z W");
  const bool by_gaps = routine.base.back() == 'r' || routine.base.back() == 'x';
  test.at_most(ratio(gram - identity(z.cols), n * problem.spread, routine.precision),
               by_gaps ? kGapRatio : kRatio, "ratio of I - Z^H Z, with B where it belongs");
}

// Expects that the Cholesky factor of B replaces B.
void expect_factor(RoutineTest& test, const Descriptor& routine, const Problem& problem, char uplo,
                   const Dense& got) {
  const Dense f = triangular(uplo, 'N', got);
  const Dense error = (uplo == 'U' ? op('C', f) * f : f * op('C', f)) - problem.b;
  const Real n = static_cast<Real>(f.rows);
  test.at_most(ratio(error, n * norm_one(problem.b), routine.precision), kRatio,
               "ratio of B - F F^H");
}

// Passes A and a B whose leading minor of order n / 2 + 1 is not positive.
void expect_refusal(RoutineTest& test, const Descriptor& routine, RoutineInput in) {
  const std::uint64_t n = in.dim("n");
  in.matrices["b"] = identity(n);
  in.matrices["b"](n / 2, n / 2) = -1;
  test.call(routine, in, static_cast<std::int64_t>(n + n / 2 + 1));
}

// The range of the wanted values.
struct Extras {
  std::uint64_t first = 0;
  std::uint64_t count = 0;  // number of wanted values
};

// Sets the range of wanted values. The routine must not read the bounds, so they are NaN. The
// tolerance is the routine's own, or the smallest that has an effect.
Extras set_range(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t n = in.dim("n");
  const bool single = real_precision(routine.precision) == Precision::s;
  const double tiny =
      single ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  in.scalars["vl"] = in.scalars["vu"] = {kNan, 0};
  in.scalars["abstol"] = {round % 2 == 0 ? 0 : 2 * tiny, 0};
  in.dims["il"] = in.dims["iu"] = -7;
  if (in.flags.count("range") == 0 || in.flag("range") == 'A') return {0, n};
  const std::uint64_t first = test.random(1, n);
  const std::uint64_t last = test.random(first, n);
  in.dims["il"] = static_cast<std::int64_t>(first);
  in.dims["iu"] = static_cast<std::int64_t>(last);
  return {first - 1, last - first + 1};
}

/// Checks the ranges of the eigenvectors' non-zero elements. dsyevr writes them with its first
/// method. If this method fails halfway, bisection and inverse iteration replace the vectors and do
/// not change the rest of ISUPPZ (LAPACK, dsyevr.f).   @returns true if every range is written
bool expect_support(RoutineTest& test, const Integers& support, std::int64_t n) {
  constexpr std::int64_t kUntouched = -1;  // the poison, as an integer
  bool complete = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t from = support[2 * static_cast<std::size_t>(i)];
    const std::int64_t to = support[2 * static_cast<std::size_t>(i) + 1];
    if (from == kUntouched && to == kUntouched) complete = false;
    const bool valid = from >= 1 && from <= to && to <= n;
    test.require(valid == complete, "isuppz names no range of a vector");
  }
  return complete;
}

/// @returns true if ISUPPZ names the ranges of all vectors
bool expect_range(RoutineTest& test, const RoutineInput& in, const RoutineOutput& out,
                  const Extras& extras) {
  const auto n = static_cast<std::int64_t>(in.dim("n"));
  test.require(out.integers("m")[0] == static_cast<std::int64_t>(extras.count), "m is wrong");
  if (in.flag("jobz") == 'N') return false;
  if (out.indices.count("ifail") != 0 && n > 1) {  // for n = 1 the reference does not write it
    const Integers& ifail = out.integers("ifail");
    for (std::uint64_t i = 0; i < extras.count; ++i) test.require(ifail[i] == 0, "ifail is not 0");
  }
  if (out.indices.count("isuppz") == 0 || in.flag("range") != 'A') return false;
  return expect_support(test, out.integers("isuppz"), n);
}

/// Bisection for values by their numbers may miss some, as the arithmetic need not be monotonic
/// (LAPACK, dstebz.f: INFO = 2).
bool has_missed_values(const Descriptor& routine, const RoutineInput& in,
                       const RoutineOutput& out) {
  return routine.base.ends_with("vx") && in.flag("range") == 'I' && out.info == 2;
}

/// @returns the result of expect_range()
bool check_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int type,
                int round) {
  in.dims["n"] = test.some_size(20);
  const Extras extras = set_range(test, routine, in, round);
  const Problem problem =
      random_problem(test, routine.precision, in.dim("n"), type, round % kSpectra);
  set_matrices(problem, in);
  const RoutineOutput out = test.run(routine, in);
  if (has_missed_values(routine, in, out)) {
    const auto found = static_cast<std::uint64_t>(out.integers("m")[0]);
    test.require(out.status.ok() && out.damage.empty() && found < extras.count,
                 "info is 2, but all values are there");
    return false;
  }
  test.require_success(out);
  const Reals w = out.reals("w");
  expect_values(test, routine, problem, w, extras.first, extras.count);
  if (in.flag("jobz") == 'V') {
    expect_vectors(test, routine, problem, w, out.matrix(out.matrices.count("z") != 0 ? "z" : "a"));
  }
  const bool supported = in.flags.count("range") != 0 && expect_range(test, in, out, extras);
  if (type == 0) return supported;
  expect_factor(test, routine, problem, in.flag("uplo"), out.matrix("b"));
  expect_refusal(test, routine, in);
  return supported;
}

void check_standard(RoutineTest& test, const Descriptor& routine) {
  const bool has_support = routine.base == "syevr" || routine.base == "heevr";
  bool supported = false;
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < 2 * kRounds; ++round) {
      supported = check_once(test, routine, in, 0, round) || supported;
    }
  }
  const bool may_miss = has_support && RoutineTest::draws_flags();
  test.require(supported == has_support || may_miss, "isuppz was never written");
}

void check_generalized(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (const int type : {1, 2, 3}) {
      in.dims["itype"] = type;
      for (int round = 0; round < kRounds; ++round)
        (void)check_once(test, routine, in, type, round);
    }
  }
}

constexpr Oracle kOracles[] = {
    {"syev", check_standard},     {"heev", check_standard},     {"syevd", check_standard},
    {"heevd", check_standard},    {"syevr", check_standard},    {"heevr", check_standard},
    {"syevx", check_standard},    {"heevx", check_standard},    {"sygv", check_generalized},
    {"hegv", check_generalized},  {"sygvd", check_generalized}, {"hegvd", check_generalized},
    {"sygvx", check_generalized}, {"hegvx", check_generalized},
};

}  // namespace

Oracles hermitian_eigen_oracles() { return kOracles; }

}  // namespace ob::test
