// QR and LQ. The ratios are those of LAPACK Working Note 41, below 30: DQRT01
// R - Q^H A
// / (m
// A
// eps) and
// I - Q^H Q
// / (m eps), DQRT02 and DQRT03 for computed or applied Q, DQPT01 with exchanges. This file computes
// Q from its reflectors.

#include <algorithm>
#include <cmath>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 30;
constexpr int kRounds = 12;

void expect_unitary(RoutineTest& test, const Descriptor& routine, const Dense& q) {
  test.at_most(unitarity(q, routine.precision), kRatio, "ratio of I - Q^H Q");
}

void expect_same(RoutineTest& test, const Descriptor& routine, const Dense& got, const Dense& right,
                 Real size, const char* what) {
  const auto n = static_cast<Real>(std::max(got.rows, got.cols));
  test.at_most(ratio(got - right, n * size, routine.precision), kRatio, what);
}

// Q and R of geqrf: m x m and m x n.
struct Factors {
  Dense q;
  Dense r;
};

Factors factors_of(const Dense& a, const Dense& tau) {
  return {product_of_reflectors(unit_lower(a, tau.rows), tau), part(Triangle::upper, a)};
}

void check_geqrf(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"m", test.some_size()}, {"n", test.some_size()}};
    const Dense& a = in.matrices["a"] =
        test.random_matrix(routine.precision, in.dim("m"), in.dim("n"));
    const RoutineOutput out = test.call(routine, in);
    const Factors f = factors_of(out.matrix("a"), out.matrix("tau"));
    expect_unitary(test, routine, f.q);
    expect_same(test, routine, f.q * f.r, a, norm_one(a), "ratio of A - Q R");
  }
}

// Rows hold conj(v), and Q = H_k^H ... H_1^H: with A^H = Q_1 R_1, this Q is Q_1^H.
void check_gelqf(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"m", test.some_size()}, {"n", test.some_size()}};
    const Dense& a = in.matrices["a"] =
        test.random_matrix(routine.precision, in.dim("m"), in.dim("n"));
    const RoutineOutput out = test.call(routine, in);
    const Factors f = factors_of(op('C', out.matrix("a")), out.matrix("tau"));
    expect_unitary(test, routine, f.q);
    expect_same(test, routine, op('C', f.r) * op('C', f.q), a, norm_one(a), "ratio of A - L Q");
  }
}

// Expects the fixed columns of A P in front, and |r_ii| that fall from the first free column on.
void expect_pivoting(RoutineTest& test, const Descriptor& routine, const Integers& wanted,
                     const Integers& jpvt, const Dense& r) {
  test.require(is_permutation(jpvt), "jpvt is no permutation");
  const auto fixed = static_cast<std::size_t>(
      std::count_if(wanted.begin(), wanted.end(), [](std::int64_t p) { return p != 0; }));
  for (std::size_t j = 0; j < fixed; ++j) {
    test.require(wanted[static_cast<std::size_t>(jpvt[j]) - 1] != 0,
                 "a fixed column is not in front");
  }
  const std::uint64_t k = std::min(r.rows, r.cols);
  for (std::uint64_t i = fixed; i + 1 < k; ++i) {
    const Real slack = kRatio * static_cast<Real>(k) * epsilon(routine.precision) * norm_one(r);
    test.at_most(std::abs(r(i + 1, i + 1)) - std::abs(r(i, i)), slack, "growth along R's diagonal");
  }
}

void check_geqp3(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 2 * kRounds; ++round) {
    RoutineInput in;
    in.dims = {{"m", test.some_size()}, {"n", test.some_size()}};
    const Dense& a = in.matrices["a"] =
        test.random_matrix(routine.precision, in.dim("m"), in.dim("n"));
    Integers& wanted = in.indices["jpvt"] = Integers(a.cols);
    for (std::int64_t& p : wanted) {
      p = round % 2 == 0 || test.random(0, 3) != 0 ? 0
                                                   : static_cast<std::int64_t>(test.random(1, 9));
    }
    const RoutineOutput out = test.call(routine, in);
    const Factors f = factors_of(out.matrix("a"), out.matrix("tau"));
    const Integers& jpvt = out.integers("jpvt");
    expect_pivoting(test, routine, wanted, jpvt, f.r);
    Dense moved = a;
    for (std::uint64_t j = 0; j < a.cols; ++j) {
      for (std::uint64_t i = 0; i < a.rows; ++i) {
        moved(i, j) = a(i, static_cast<std::uint64_t>(jpvt[j]) - 1);
      }
    }
    expect_unitary(test, routine, f.q);
    expect_same(test, routine, f.q * f.r, moved, norm_one(a), "ratio of A P - Q R");
  }
}

// Generated reflectors of a QR or LQ factorization, in a matrix with NaN everywhere else.
struct Given {
  Dense a;
  Dense tau;
  Dense q;
};

Given random_factor(RoutineTest& test, Precision precision, std::uint64_t n, std::uint64_t k,
                    bool rows) {
  const Reflectors made = random_reflectors(test, precision, n, k);
  const Dense q = product_of_reflectors(unit_lower(made.a, k), made.tau);
  Dense a = made.a;
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i <= j && i < a.rows; ++i) a(i, j) = std::nanl("");
  }
  if (!rows) return {a, made.tau, q};
  return {op('C', a), made.tau, op('C', q)};
}

// orgqr and orglq compute the first columns (rows) of Q.
template <bool kRows>
void check_make_q(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < kRounds; ++round) {
    RoutineInput in;
    const auto longer = static_cast<std::uint64_t>(test.some_size());
    const std::uint64_t shorter = test.random(1, longer);
    const std::uint64_t k = round == 0 ? 0 : test.random(1, shorter);
    in.dims = {{"m", kRows ? shorter : longer}, {"n", kRows ? longer : shorter}, {"k", k}};
    const Given given = random_factor(test, routine.precision, longer, k, kRows);
    in.matrices["tau"] = given.tau;
    Dense& a = in.matrices["a"] = Dense(in.dim("m"), in.dim("n"));
    for (std::uint64_t j = 0; j < a.cols; ++j) {  // elements behind the reflectors are not read
      for (std::uint64_t i = 0; i < a.rows; ++i) {
        const bool held = i < given.a.rows && j < given.a.cols;
        a(i, j) = held ? given.a(i, j) : Wide(std::nanl(""));
      }
    }
    const RoutineOutput out = test.call(routine, in);
    const Dense q = kRows ? block(given.q, 0, 0, shorter, longer) : columns(given.q, 0, shorter);
    expect_same(test, routine, out.matrix("a"), q, 1, "ratio of the columns of Q");
    expect_unitary(test, routine, kRows ? op('C', out.matrix("a")) : out.matrix("a"));
  }
}

// ormqr and ormlq compute op(Q) C or C op(Q).
template <bool kRows>
void check_apply_q(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) {
      in.dims = {{"m", test.some_size()}, {"n", test.some_size()}};
      const bool left = in.flag("side") == 'L';
      const std::uint64_t order = in.dim(left ? "m" : "n");
      const std::uint64_t k = test.random(0, order);
      in.dims["k"] = static_cast<std::int64_t>(k);
      const Given given = random_factor(test, routine.precision, order, k, kRows);
      in.matrices["a"] = given.a;
      in.matrices["tau"] = given.tau;
      const Dense& c = in.matrices["c"] =
          test.random_matrix(routine.precision, in.dim("m"), in.dim("n"));
      const Dense q = op(in.flag("trans"), given.q);
      const RoutineOutput out = test.call(routine, in);
      expect_same(test, routine, out.matrix("c"), left ? q * c : c * q, norm_one(c),
                  "ratio of op(Q) C");
    }
  }
}

constexpr Oracle kOracles[] = {
    {"geqrf", check_geqrf},          {"gelqf", check_gelqf},
    {"geqp3", check_geqp3},          {"orgqr", check_make_q<false>},
    {"ungqr", check_make_q<false>},  {"orglq", check_make_q<true>},
    {"unglq", check_make_q<true>},   {"ormqr", check_apply_q<false>},
    {"unmqr", check_apply_q<false>}, {"ormlq", check_apply_q<true>},
    {"unmlq", check_apply_q<true>},
};

}  // namespace

Oracles orthogonal_oracles() { return kOracles; }

}  // namespace ob::test
