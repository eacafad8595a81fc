// Eigenvalues and eigenvectors of general matrices. The ratio is that of LAPACK Working Note 41
// (DGET22) and its file nep.in, below 20 (its ULP is twice the eps here):
// A V - V W
// / (n
// A
// V
// eps).

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/device/general_problem.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 40;
constexpr int kRounds = 12;

Dense diagonal_of(const Wides& values) {
  Dense d(values.size(), values.size());
  for (std::uint64_t i = 0; i < values.size(); ++i) d(i, i) = values[i];
  return d;
}

void expect_residual(RoutineTest& test, const Descriptor& routine, const Dense& a, const Dense& v,
                     const Dense& w, const char* what) {
  const Real scale = static_cast<Real>(a.rows) * norm_one(a) * norm_one(v);
  test.at_most(ratio(a * v - v * w, scale, routine.precision), kRatio, what);
}

// Expects columns of length 1 whose largest component is real.
void expect_normalized(RoutineTest& test, const Descriptor& routine, const Dense& vectors) {
  const Real limit = kRatio * static_cast<Real>(vectors.rows) * unit_roundoff(routine.precision);
  for (std::uint64_t j = 0; j < vectors.cols; ++j) {
    const Dense v = columns(vectors, j, 1);
    test.at_most(std::abs(norm_frobenius(v) - 1), limit, "a vector's length from 1");
    Wide largest = 0;
    for (const Wide x : v.elements) {
      // If two components have nearly the same size, the routine may have chosen either of them.
      const bool larger = std::abs(x) > (1 + limit) * std::abs(largest);
      const bool as_large = std::abs(x) >= (1 - limit) * std::abs(largest);
      if (larger || (as_large && std::abs(x.imag()) < std::abs(largest.imag()))) largest = x;
    }
    test.at_most(std::abs(largest.imag()), limit, "imaginary part of a vector's largest component");
  }
}

struct Vectors {
  Dense left;
  Dense right;
};

// Checks them in `balanced` coordinates: A_b = S^-1 A S, right vectors S^-1 v, left ones S^H u.
Vectors expect_vectors(RoutineTest& test, const Descriptor& routine, const RoutineInput& in,
                       const RoutineOutput& out, const Wides& values, const Dense& balanced,
                       const Dense& s) {
  Vectors got;
  const Dense w = diagonal_of(values);
  if (in.flag("jobvr") == 'V') {
    const Dense v = complex_vectors(out.matrix("vr"), values, routine.precision);
    expect_normalized(test, routine, v);
    got.right = normalized(solve(s, v));
    expect_residual(test, routine, balanced, got.right, w, "ratio of A V - V W");
  }
  if (in.flag("jobvl") == 'V') {
    const Dense u = complex_vectors(out.matrix("vl"), values, routine.precision);
    expect_normalized(test, routine, u);
    got.left = normalized(op('C', s) * u);
    expect_residual(test, routine, op('C', balanced), got.left, op('C', w),
                    "ratio of U^H A - W U^H");
  }
  return got;
}

void check_geev(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size(20)}};
      const GeneralProblem problem =
          random_general(test, routine.precision, in.dim("n"), round % kSpectra);
      const Dense& a = in.matrices["a"] = problem.a;
      const RoutineOutput out = test.call(routine, in);
      const Wides values = eigenvalues_of(out);
      require_pairs(test, values, routine.precision);
      const Real step = kRatio * static_cast<Real>(a.rows) * unit_roundoff(routine.precision);
      expect_near(test, values, problem.values, step * norm_one(a) * condition(problem.vectors));
      expect_vectors(test, routine, in, out, values, a, identity(a.rows));
    }
  }
}

// Sets one eigenvalue apart, then exchanges rows and columns and scales them by powers of 2.
GeneralProblem unbalanced(RoutineTest& test, Precision precision, GeneralProblem problem) {
  const std::uint64_t n = problem.a.rows;
  Dense s(n, n);
  Dense reversed(n, n);
  for (std::uint64_t i = 0; i < n; ++i) {
    s(i, i) = std::ldexp(Real{1}, static_cast<int>(test.random(0, 12)) - 6);
    reversed(i, (i + 1) % n) = 1;
  }
  Dense apart(n + 1, n + 1);
  apart(0, 0) = 0.5L;
  Dense vectors(n + 1, n + 1);
  vectors(0, 0) = 1;
  const Dense moved = reversed * s * problem.a * solve(s, op('T', reversed));
  const Dense moved_vectors = reversed * s * problem.vectors;
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = 0; i < n; ++i) {
      apart(i + 1, j + 1) = moved(i, j);
      vectors(i + 1, j + 1) = moved_vectors(i, j);
    }
  }
  problem.a = rounded(precision, apart);
  problem.vectors = vectors;
  problem.values.insert(problem.values.begin(), 0.5L);
  return problem;
}

// Returns P D of the balanced matrix (P D)^-1 A (P D), as defined in gebal's documentation.
Dense balancing(RoutineTest& test, const RoutineOutput& out) {
  const Reals scale = out.reals("scale");
  const auto n = static_cast<std::int64_t>(scale.size());
  const std::int64_t ilo = out.integers("ilo")[0];
  const std::int64_t ihi = out.integers("ihi")[0];
  test.require(ilo >= 1 && ilo <= ihi && ihi <= n, "ilo and ihi are no range");
  Dense p = identity(scale.size());
  const auto exchange = [&](std::int64_t j) {
    const Real partner = scale[static_cast<std::size_t>(j) - 1];
    test.require(partner >= 1 && partner <= n && partner == std::floor(partner),
                 "scale names no row to exchange");
    swap_columns(p, static_cast<std::uint64_t>(j) - 1, static_cast<std::uint64_t>(partner) - 1);
  };
  for (std::int64_t j = n; j > ihi; --j) exchange(j);
  for (std::int64_t j = 1; j < ilo; ++j) exchange(j);
  Dense d = identity(scale.size());
  for (auto j = static_cast<std::uint64_t>(ilo) - 1; j < static_cast<std::uint64_t>(ihi); ++j) {
    d(j, j) = scale[j];
    test.require(scale[j] > 0, "a scale factor is not positive");
  }
  return p * d;
}

void expect_balanced(RoutineTest& test, const Descriptor& routine, char balanc,
                     const RoutineOutput& out, const Dense& balanced) {
  const auto n = static_cast<std::int64_t>(balanced.rows);
  if (balanc == 'N' || balanc == 'S') {
    test.require(out.integers("ilo")[0] == 1 && out.integers("ihi")[0] == n,
                 "rows were exchanged although nobody asked");
  }
  const Reals scale = out.reals("scale");
  for (std::size_t j = 0; j < scale.size() && balanc == 'N'; ++j) {
    test.require(scale[j] == 1, "a scale factor is not 1 without balancing");
  }
  const auto before = static_cast<std::uint64_t>(out.integers("ilo")[0]) - 1;
  const auto after = static_cast<std::uint64_t>(out.integers("ihi")[0]);
  for (std::uint64_t j = 0; j < balanced.cols; ++j) {
    for (std::uint64_t i = j + 1; i < balanced.rows; ++i) {
      test.require((j >= before && i < after) || balanced(i, j) == Wide(0),
                   "rows and columns outside ilo to ihi are not triangular");
    }
  }
  const Real norm = norm_one(balanced);
  test.at_most(std::abs(out.real("abnrm") - norm),
               kRatio * static_cast<Real>(n) * unit_roundoff(routine.precision) * norm,
               "error of abnrm");
}

// Expects rconde = |u^H v|. rconde and rcondv bound the distances of eigenvalues.
void expect_conditions(RoutineTest& test, const Descriptor& routine, const RoutineInput& in,
                       const RoutineOutput& out, const Wides& values, const Vectors& got,
                       Real error, Real vector_condition) {
  const char sense = in.flag("sense");
  const Real n = static_cast<Real>(values.size());
  const Real step = kRatio * n * unit_roundoff(routine.precision);
  for (std::uint64_t i = 0; (sense == 'E' || sense == 'B') && i < values.size(); ++i) {
    const Dense product = op('C', columns(got.left, i, 1)) * columns(got.right, i, 1);
    test.at_most(std::abs(out.reals("rconde")[i] - std::abs(product(0, 0))), step,
                 "error of rconde");
  }
  for (std::uint64_t i = 0; (sense == 'V' || sense == 'B') && n > 1 && i < values.size(); ++i) {
    // The separation lies between gap / cond(V) and gap; the routine estimates it in the 1-norm.
    Real gap = std::numeric_limits<Real>::infinity();
    for (std::uint64_t j = 0; j < values.size(); ++j) {
      if (j != i) gap = std::min(gap, std::abs(values[i] - values[j]));
    }
    constexpr Real kEstimate = 10;
    const Real separation = out.reals("rcondv")[i];
    test.at_most(separation, kEstimate * std::sqrt(n) * (gap + error), "rcondv");
    test.at_most(std::max<Real>(0, gap - error) / (kEstimate * std::sqrt(n) * vector_condition),
                 separation, "least rcondv");
  }
}

void check_geevx_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  GeneralProblem problem = random_general(
      test, routine.precision, static_cast<std::uint64_t>(test.some_size(12)), round % kSpectra);
  if (round % 2 == 1) problem = unbalanced(test, routine.precision, std::move(problem));
  const Dense& a = in.matrices["a"] = problem.a;
  in.dims = {{"n", static_cast<std::int64_t>(a.rows)}};
  const RoutineOutput out = test.call(routine, in);
  const Wides values = eigenvalues_of(out);
  require_pairs(test, values, routine.precision);
  const Dense s = balancing(test, out);
  const Dense balanced = solve(s, a * s);
  expect_balanced(test, routine, in.flag("balanc"), out, balanced);
  const Real step = kRatio * static_cast<Real>(a.rows) * unit_roundoff(routine.precision);
  const Real vector_condition = condition(normalized(solve(s, problem.vectors)));
  const Real error = step * norm_one(balanced) * vector_condition;
  expect_near(test, values, problem.values, error);
  const Vectors got = expect_vectors(test, routine, in, out, values, balanced, s);
  expect_conditions(test, routine, in, out, values, got, error, vector_condition);
  if (in.flag("jobvl") == 'N' && in.flag("jobvr") == 'N') return;
  const Dense& t = out.matrix("a");
  expect_schur_form(test, t, values, routine.precision);
  test.at_most(std::abs(norm_frobenius(t) - norm_frobenius(balanced)),
               step * norm_frobenius(balanced), "change of the norm");
}

void check_geevx(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds / 2; ++round) check_geevx_once(test, routine, in, round);
  }
}

constexpr Oracle kOracles[] = {{"geev", check_geev}, {"geevx", check_geevx}};

}  // namespace

Oracles general_eigen_oracles() { return kOracles; }

}  // namespace ob::test
