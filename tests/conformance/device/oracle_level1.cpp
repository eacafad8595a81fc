// BLAS level 1, compared with its definitions.
//
// Tolerances: the error of a sum of n products in any order is at most n eps sum |x_i y_i| (Higham,
// Accuracy and Stability of Numerical Algorithms, 2nd edition, 3.1), enlarged for complex
// arithmetic. Vectors may differ by a few eps of their terms. Copies and indices are exact.

#include <cmath>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kTolerance = 4;
// 1, odd sizes, sizes near the widths of SIMD kernels, and sizes larger than their loops.
constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 4, 7, 16, 33, 100};
constexpr int kRounds = 6;  // each round has its own increments

Wide wide(Complex x) { return {x.re, x.im}; }

Complex scalar(RoutineTest& test, const Descriptor& routine, std::string_view name, int round) {
  Complex value = test.random_scalar(routine.precision, static_cast<std::uint64_t>(round % 4));
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.argument_names[i] != name) continue;
    if (routine.kinds[i] == Kind::real_scalar || !is_complex(routine.precision)) value.im = 0;
  }
  return value;
}

// Returns random x and y if the routine has them, and scalars of every kind.
RoutineInput vectors(RoutineTest& test, const Descriptor& routine, std::int64_t n, int round) {
  RoutineInput in;
  in.dims = {{"n", n}};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    if (routine.kinds[i] == Kind::strided) {
      in.matrices[name] = test.random_matrix(routine.precision, static_cast<std::uint64_t>(n), 1);
    } else if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar) {
      in.scalars[name] = scalar(test, routine, name, round);
    }
  }
  return in;
}

template <class Check>
void over_sizes(RoutineTest& test, const Descriptor& routine, const Check& check) {
  for (const std::int64_t n : kSizes) {
    for (int round = 0; round < kRounds; ++round) check(vectors(test, routine, n, round));
  }
}

void expect_near(RoutineTest& test, const Descriptor& routine, const Dense& got, const Dense& right,
                 const Dense& size, const std::string& what) {
  test.at_most(worst_ratio(got - right, size), kTolerance * epsilon(routine.precision), what);
}

void check_dot(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const Dense& x = in.matrices.at("x");
    const Dense& y = in.matrices.at("y");
    Wide right = 0;
    Real size = 0;
    for (std::uint64_t i = 0; i < x.rows; ++i) {
      right += (routine.base == "dotc" ? std::conj(x(i, 0)) : x(i, 0)) * y(i, 0);
      size += std::abs(x(i, 0) * y(i, 0));
    }
    // dsdot and sdsdot accumulate in double precision; sdsdot rounds its result. OpenBLAS (0.3.21)
    // does so only up to 31 elements: contiguous ones it sums in blocks of 32 in single precision.
    const bool named = routine.base == "dsdot" || routine.base == "sdsdot";
    const bool wider = named && x.rows < 32;
    const Real eps = wider ? epsilon(Precision::d) : epsilon(routine.precision);
    Real limit = kTolerance * static_cast<Real>(x.rows) * eps * size;
    if (routine.base == "sdsdot") {
      right += wide(in.scalars.at("b"));
      limit += epsilon(Precision::s) * std::abs(right);
    }
    const RoutineOutput out = test.call(routine, in);
    test.at_most(std::abs(out.matrix("result")(0, 0) - right), limit, "error of the result");
  });
}

void check_nrm2(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](RoutineInput in) {
    Dense& x = in.matrices.at("x");
    // The squares exceed the range of the precision: norms must scale (Higham, chapter 27).
    const bool single = real_precision(routine.precision) == Precision::s;
    const int exponent = single ? 100 : 900;
    const Real scale =
        std::ldexp(Real{1}, exponent * static_cast<int>(test.random(0, 2)) - exponent);
    for (Wide& element : x.elements) element *= scale;
    const Real right = norm_frobenius(x);
    const RoutineOutput out = test.call(routine, in);
    test.at_most(std::abs(out.real("result") - right),
                 kTolerance * static_cast<Real>(x.rows + 1) * epsilon(routine.precision) * right,
                 "error of the norm");
  });
}

Real sum_of_parts(Wide x) { return std::abs(x.real()) + std::abs(x.imag()); }

void check_asum(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    Real right = 0;
    for (const Wide x : in.matrices.at("x").elements) right += sum_of_parts(x);
    const RoutineOutput out = test.call(routine, in);
    const auto terms = static_cast<Real>(2 * in.matrices.at("x").rows);
    test.at_most(std::abs(out.real("result") - right),
                 kTolerance * terms * epsilon(routine.precision) * right, "error of the sum");
  });
}

void check_iamax(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](RoutineInput in) {
    Dense& x = in.matrices.at("x");
    // There are few different numbers, so that the largest one is repeated; their sums are exact.
    for (Wide& element : x.elements) {
      element = {static_cast<Real>(test.random(0, 8)) - 4,
                 is_complex(routine.precision) ? static_cast<Real>(test.random(0, 8)) - 4 : 0};
    }
    std::int64_t right = 0;
    Real largest = -1;
    for (std::uint64_t i = 0; i < x.rows; ++i) {
      if (sum_of_parts(x(i, 0)) <= largest) continue;
      largest = sum_of_parts(x(i, 0));
      right = static_cast<std::int64_t>(i) + 1;
    }
    const RoutineOutput out = test.call(routine, in);
    test.require(out.integers("result")[0] == right, "result is " +
                                                         std::to_string(out.integers("result")[0]) +
                                                         ", not " + std::to_string(right));
  });
}

void check_axpy(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const Wide a = wide(in.scalars.at("a"));
    const Dense ax = a * in.matrices.at("x");
    const Dense& y = in.matrices.at("y");
    const RoutineOutput out = test.call(routine, in);
    expect_near(test, routine, out.matrix("y"), ax + y, abs(ax) + abs(y), "error of y");
  });
}

void check_scal(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const Dense right = wide(in.scalars.at("a")) * in.matrices.at("x");
    const RoutineOutput out = test.call(routine, in);
    expect_near(test, routine, out.matrix("x"), right, abs(right), "error of x");
  });
}

void check_copy(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const RoutineOutput out = test.call(routine, in);
    test.require(out.matrix("y").elements == in.matrices.at("x").elements, "y is not x");
  });
}

void check_swap(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const RoutineOutput out = test.call(routine, in);
    test.require(out.matrix("y").elements == in.matrices.at("x").elements, "y is not x");
    test.require(out.matrix("x").elements == in.matrices.at("y").elements, "x is not y");
  });
}

// Expects (x, y) := (h11 x + h12 y, h21 x + h22 y) in one row of the result.
void expect_combined(RoutineTest& test, const Descriptor& routine, const RoutineInput& in,
                     const RoutineOutput& out, const char* name, Real of_x, Real of_y) {
  const Dense x = Wide(of_x) * in.matrices.at("x");
  const Dense y = Wide(of_y) * in.matrices.at("y");
  expect_near(test, routine, out.matrix(name), x + y, abs(x) + abs(y),
              std::string("error of ") + name);
}

void check_rot(RoutineTest& test, const Descriptor& routine) {
  over_sizes(test, routine, [&](const RoutineInput& in) {
    const Real c = in.scalars.at("c").re;
    const Real s = in.scalars.at("s").re;
    const RoutineOutput out = test.call(routine, in);
    expect_combined(test, routine, in, out, "x", c, s);
    expect_combined(test, routine, in, out, "y", -s, c);
  });
}

void check_rotm(RoutineTest& test, const Descriptor& routine) {
  for (const int flag : {-2, -1, 0, 1}) {
    over_sizes(test, routine, [&](RoutineInput in) {
      Dense& param = in.matrices["param"] = test.random_matrix(routine.precision, 5, 1);
      param(0, 0) = flag;
      Real h[4];  // h11, h21, h12, h22: the order of param
      for (int i = 0; i < 4; ++i) h[i] = param(static_cast<std::uint64_t>(i) + 1, 0).real();
      if (flag == -2) h[0] = h[3] = 1, h[1] = h[2] = 0;
      if (flag == 0) h[0] = h[3] = 1;
      if (flag == 1) h[1] = -1, h[2] = 1;
      const RoutineOutput out = test.call(routine, in);
      expect_combined(test, routine, in, out, "x", h[0], h[2]);
      expect_combined(test, routine, in, out, "y", h[1], h[3]);
    });
  }
}

constexpr Oracle kOracles[] = {
    {"dot", check_dot},    {"dotu", check_dot},  {"dotc", check_dot},       {"dsdot", check_dot},
    {"sdsdot", check_dot}, {"nrm2", check_nrm2}, {"asum", check_asum},      {"iamax", check_iamax},
    {"axpy", check_axpy},  {"scal", check_scal}, {"real_scal", check_scal}, {"copy", check_copy},
    {"swap", check_swap},  {"rot", check_rot},   {"rotm", check_rotm},
};

}  // namespace

Oracles level1_oracles() { return kOracles; }

}  // namespace ob::test
