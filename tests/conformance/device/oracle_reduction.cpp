// Reductions to condensed forms: A = Q T Q^H and similar ones. This file computes Q from its
// reflectors. The ratios are those of LAPACK Working Note 41, below 30: DSYT21, DBDT01, DHST01: the
// norm of the residual over n
// A
// eps, and
// I - Q^H Q
// / (n eps).

#include <algorithm>
#include <cmath>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 30;
constexpr int kRounds = 12;

void expect_form(RoutineTest& test, const Descriptor& routine, const Dense& a, const Dense& q,
                 const Dense& form, const Dense& p) {
  test.at_most(unitarity(q, routine.precision), kRatio, "ratio of I - Q^H Q");
  test.at_most(unitarity(p, routine.precision), kRatio, "ratio of I - P^H P");
  const auto n = static_cast<Real>(std::max(a.rows, a.cols));
  test.at_most(ratio(q * form * op('C', p) - a, n * norm_one(a), routine.precision), kRatio,
               "ratio of Q B P^H - A");
}

// Returns vectors with a one in row `j + shift` of column j, and `stored` below it.
Dense shifted_vectors(const Dense& stored, std::uint64_t count, std::uint64_t shift) {
  Dense v(stored.rows, count);
  for (std::uint64_t j = 0; j < count; ++j) {
    v(j + shift, j) = 1;
    for (std::uint64_t i = j + shift + 1; i < stored.rows; ++i) v(i, j) = stored(i, j);
  }
  return v;
}

// Returns Q for uplo = 'U': Q = H_(n-1) ... H_1. The vector of H_i has its one in row i; its other
// elements lie above, in column i + 1.
Dense q_of_upper(const Dense& a, const Dense& tau) {
  Dense q = identity(a.rows);
  for (std::uint64_t i = 0; i + 1 < a.rows; ++i) {
    Dense v(a.rows, 1);
    v(i, 0) = 1;
    for (std::uint64_t r = 0; r < i; ++r) v(r, 0) = a(r, i + 1);
    reflect(q, v, tau(i, 0));
  }
  return q;
}

Dense tridiagonal(const Reals& d, const Reals& e) {
  Dense t = diagonal(d);
  for (std::uint64_t i = 0; i < e.size(); ++i) t(i, i + 1) = t(i + 1, i) = e[i];
  return t;
}

void check_sytrd(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"n", test.some_size()}};
      const std::uint64_t n = in.dim("n");
      const char uplo = in.flag("uplo");
      in.matrices["a"] = test.random_matrix(routine.precision, n, n);
      const Dense a = hermitian(uplo, in.matrices["a"]);
      const RoutineOutput out = test.call(routine, in);
      const Dense& got = out.matrix("a");
      const Dense& tau = out.matrix("tau");
      const Dense q = uplo == 'U' ? q_of_upper(got, tau)
                                  : product_of_reflectors(shifted_vectors(got, n - 1, 1), tau);
      expect_form(test, routine, a, q, tridiagonal(out.reals("d"), out.reals("e")), q);
      // T also lies in A.
      for (std::uint64_t i = 0; i < n; ++i) {
        test.require(got(i, i) == Wide(out.reals("d")[i]), "D is not A's diagonal");
      }
      for (std::uint64_t i = 0; i + 1 < n; ++i) {
        const Wide beside = uplo == 'U' ? got(i, i + 1) : got(i + 1, i);
        test.require(beside == Wide(out.reals("e")[i]), "E does not lie beside A's diagonal");
      }
    }
  }
}

void check_gebrd(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"m", test.some_size()}, {"n", test.some_size()}};
    const std::uint64_t m = in.dim("m");
    const std::uint64_t n = in.dim("n");
    const Dense& a = in.matrices["a"] = test.random_matrix(routine.precision, m, n);
    const RoutineOutput out = test.call(routine, in);
    const bool upper = m >= n;  // upper or lower bidiagonal form
    const std::uint64_t k = std::min(m, n);
    const Reals e = out.reals("e");
    const Dense& got = out.matrix("a");
    Dense b = diagonal(out.reals("d"), m, n);
    for (std::uint64_t i = 0; i < k; ++i)
      test.require(got(i, i) == b(i, i), "D is not A's diagonal");
    for (std::uint64_t i = 0; i < e.size(); ++i) {
      (upper ? b(i, i + 1) : b(i + 1, i)) = e[i];
      test.require((upper ? got(i, i + 1) : got(i + 1, i)) == Wide(e[i]),
                   "E does not lie beside A's diagonal");
    }
    const Dense& last = out.matrix(upper ? "taup" : "tauq");  // the last reflector is empty
    test.require(last(k - 1, 0) == Wide(0), "the last reflector of the shorter side is not empty");
    // Rows hold the conjugates of P's vectors. The vectors on the bidiagonal's side start a row
    // later.
    const std::uint64_t q_count = upper ? k : k - 1;
    const std::uint64_t p_count = upper ? k - 1 : k;
    const Dense q =
        product_of_reflectors(shifted_vectors(got, q_count, upper ? 0 : 1), out.matrix("tauq"));
    const Dense p = product_of_reflectors(shifted_vectors(op('C', got), p_count, upper ? 1 : 0),
                                          out.matrix("taup"));
    expect_form(test, routine, a, q, b, p);
  }
}

// Returns a matrix that is triangular outside of the rows and columns ilo to ihi.
Dense partly_triangular(RoutineTest& test, Precision precision, std::uint64_t n, std::uint64_t ilo,
                        std::uint64_t ihi) {
  Dense a = test.random_matrix(precision, n, n);
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = j + 1; i < n; ++i) {
      if (j + 1 < ilo || i + 1 > ihi) a(i, j) = 0;
    }
  }
  return a;
}

void check_gehrd(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RoutineInput in;
    const auto n = static_cast<std::uint64_t>(test.some_size());
    const std::uint64_t ilo = round % 2 == 0 ? 1 : test.random(1, n);
    const std::uint64_t ihi = round % 2 == 0 ? n : test.random(ilo, n);
    in.dims = {{"n", n}, {"ilo", ilo}, {"ihi", ihi}};
    const Dense& a = in.matrices["a"] = partly_triangular(test, routine.precision, n, ilo, ihi);
    const RoutineOutput out = test.call(routine, in);
    const Dense& got = out.matrix("a");
    Dense h(n, n);
    for (std::uint64_t j = 0; j < n; ++j) {
      for (std::uint64_t i = 0; i <= std::min(j + 1, n - 1); ++i) h(i, j) = got(i, j);
    }
    const Dense& tau = out.matrix("tau");
    for (std::uint64_t i = 0; i + 1 < n; ++i) {
      const bool inside = i + 1 >= ilo && i + 1 < ihi;
      test.require(inside || tau(i, 0) == Wide(0), "tau is not 0 outside ilo to ihi");
    }
    const Dense q = product_of_reflectors(shifted_vectors(got, n - 1, 1), tau);
    expect_form(test, routine, a, q, h, q);
  }
}

constexpr Oracle kOracles[] = {
    {"sytrd", check_sytrd}, {"hetrd", check_sytrd}, {"gebrd", check_gebrd}, {"gehrd", check_gehrd}};

}  // namespace

Oracles reduction_oracles() { return kOracles; }

}  // namespace ob::test
