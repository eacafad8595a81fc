// Generalized eigenvalue problems A x = w B x of general matrices: w = alpha / beta, with beta = 0
// for an infinite one. The ratio is that of LAPACK Working Note 41 (DGET52) and its file dgg.in,
// below 20 (its ULP is twice the eps here):
// beta A v - alpha B v
// / (n max(|beta|
// A
// , |alpha|
// B
// )
// v
// eps).

#include <algorithm>
#include <cmath>

#include "conformance/device/general_problem.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 40;
constexpr int kRounds = 16;

// A pair alpha : beta of length 1.
struct Pair {
  Wide alpha;
  Wide beta;
};

Pair of_length_one(Wide alpha, Wide beta) {
  const Real length = std::hypot(std::abs(alpha), std::abs(beta));
  return {alpha / length, beta / length};
}

// (A, B) = P (L, M) Q; L and M consist of blocks of the pairs.
struct Problem {
  Dense a;
  Dense b;
  std::vector<Pair> pairs;
  Real sensitivity = 1;  // ||P^-1|| ||Q^-1||
};

Problem random_problem(RoutineTest& test, Precision precision, std::uint64_t n) {
  Problem made;
  Dense l(n, n);
  Dense m(n, n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const bool pair = !is_complex(precision) && i + 1 < n && test.random(0, 1) == 0;
    const bool complex = is_complex(precision) || pair;
    const bool infinite = !pair && test.random(0, 5) == 0;
    const Pair one = infinite
                         ? Pair{1, 0}
                         : of_length_one({test.uniform(-1, 1), complex ? test.uniform(-1, 1) : 0},
                                         test.uniform(0.2, 1));
    made.pairs.push_back(one);
    l(i, i) = one.alpha;
    m(i, i) = one.beta;
    if (!pair) continue;
    made.pairs.push_back({std::conj(one.alpha), one.beta});
    l(i, i) = l(i + 1, i + 1) = one.alpha.real();
    l(i, i + 1) = one.alpha.imag();
    l(i + 1, i) = -one.alpha.imag();
    m(i + 1, i + 1) = one.beta;
    ++i;
  }
  const Dense p = random_unitary(test, precision, n) * random_triangle(test, 'U', precision, n);
  const Dense q = random_triangle(test, 'L', precision, n) * random_unitary(test, precision, n);
  made.a = rounded(precision, p * l * q);
  made.b = rounded(precision, p * m * q);
  made.sensitivity = norm_one(inverse(p)) * norm_one(inverse(q));
  return made;
}

std::vector<Pair> pairs_of(const RoutineOutput& out) {
  const Wides beta = out.matrix("beta").elements;
  Wides alpha(beta.size());
  if (out.matrices.count("alpha") != 0) {
    alpha = out.matrix("alpha").elements;
  } else {
    const Reals re = out.reals("alphar");
    const Reals im = out.reals("alphai");
    for (std::size_t i = 0; i < alpha.size(); ++i) alpha[i] = {re[i], im[i]};
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < alpha.size(); ++i) pairs.push_back({alpha[i], beta[i]});
  return pairs;
}

// Returns the chordal distance (Golub and Van Loan, Matrix Computations, 4th edition, 7.7).
Real distance(const Pair& x, const Pair& y) {
  const Pair u = of_length_one(x.alpha, x.beta);
  const Pair v = of_length_one(y.alpha, y.beta);
  return std::abs(u.alpha * v.beta - u.beta * v.alpha);
}

Real nearest(const Pair& x, const std::vector<Pair>& to) {
  Real least = 2;
  for (const Pair& y : to) least = std::min(least, distance(x, y));
  return least;
}

// Expects near values in both directions, by chordal distance (Stewart and Sun, Matrix Perturbation
// Theory, VI).
void expect_values(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                   const std::vector<Pair>& got) {
  const Real limit = kRatio * static_cast<Real>(got.size()) * unit_roundoff(routine.precision) *
                     problem.sensitivity * (norm_one(problem.a) + norm_one(problem.b));
  for (const Pair& x : got) test.at_most(nearest(x, problem.pairs), limit, "error of alpha / beta");
  for (const Pair& x : problem.pairs)
    test.at_most(nearest(x, got), limit, "a right value's distance");
}

void expect_vectors(RoutineTest& test, const Descriptor& routine, const Dense& a, const Dense& b,
                    const std::vector<Pair>& pairs, const Dense& vectors, const char* what) {
  const Real step = kRatio * static_cast<Real>(a.rows) * unit_roundoff(routine.precision);
  for (std::uint64_t j = 0; j < vectors.cols; ++j) {
    const Dense v = columns(vectors, j, 1);
    Real largest = 0;
    for (const Wide x : v.elements) {
      largest = std::max(largest, std::abs(x.real()) + std::abs(x.imag()));
    }
    test.at_most(std::abs(largest - 1), step, "a vector's largest |Re| + |Im| from 1");
    const Real size =
        std::max(std::abs(pairs[j].beta) * norm_one(a), std::abs(pairs[j].alpha) * norm_one(b));
    test.at_most(norm_one(pairs[j].beta * (a * v) - pairs[j].alpha * (b * v)),
                 step * size * norm_one(v), what);
  }
}

void check_ggev_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in) {
  in.dims = {{"n", test.some_size(16)}};
  const Problem problem = random_problem(test, routine.precision, in.dim("n"));
  in.matrices["a"] = problem.a;
  in.matrices["b"] = problem.b;
  const RoutineOutput out = test.call(routine, in);
  const std::vector<Pair> pairs = pairs_of(out);
  expect_values(test, routine, problem, pairs);
  Wides alphas(pairs.size());
  std::vector<Pair> conjugates = pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    alphas[i] = pairs[i].alpha;
    conjugates[i] = {std::conj(pairs[i].alpha), std::conj(pairs[i].beta)};
    const bool first = alphas[i].imag() > 0;  // the first of a pair, in real precisions
    const bool second = i > 0 && alphas[i].imag() < 0 && alphas[i - 1].imag() > 0;
    test.require(is_complex(routine.precision) || alphas[i].imag() == 0 || first || second,
                 "a pair's second value comes first");
  }
  const auto vectors = [&](const char* name) {
    return complex_vectors(out.matrix(name), alphas, routine.precision);
  };
  if (in.flag("jobvr") == 'V') {
    expect_vectors(test, routine, problem.a, problem.b, pairs, vectors("vr"),
                   "beta A v - alpha B v");
  }
  if (in.flag("jobvl") == 'V') {
    expect_vectors(test, routine, op('C', problem.a), op('C', problem.b), conjugates, vectors("vl"),
                   "beta u^H A - alpha u^H B");
  }
}

void check_ggev(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) check_ggev_once(test, routine, in);
  }
}

constexpr Oracle kOracles[] = {{"ggev", check_ggev}};

}  // namespace

Oracles pencil_oracles() { return kOracles; }

}  // namespace ob::test
