// The BLAS's routines that construct rotations, checked with the equations that define them.

#include <algorithm>
#include <cmath>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

// The bound for a few operations, each with an error of at most eps of its terms.
constexpr Real kTolerance = 8;

Dense number(Wide x) {
  Dense one(1, 1);
  one(0, 0) = x;
  return one;
}

// Checks z, which encodes c and s (the reference's documentation of rotg).
void expect_z(RoutineTest& test, const RoutineInput& in, const RoutineOutput& out, Real limit) {
  const Real a = in.matrices.at("a")(0, 0).real();
  const Real b = in.matrices.at("b")(0, 0).real();
  const Real c = out.real("c");
  const Real s = out.real("s");
  Real right = std::abs(a) > std::abs(b) ? s : c == 0 ? 1 : 1 / c;
  if (a == 0 && b == 0) right = 0;
  test.at_most(std::abs(out.real("b") - right), limit * std::max<Real>(1, std::abs(right)),
               "error of z");
  const Real sign = std::abs(a) > std::abs(b) ? a : b;
  test.require(out.real("a") * sign >= 0, "r has not the sign of the larger component");
}

void check_rotg(RoutineTest& test, const Descriptor& routine) {
  for (int round = 0; round < 40; ++round) {
    RoutineInput in;
    for (const char* name : {"a", "b"}) {
      in.matrices[name] =
          test.random(0, 3) == 0 ? number(0) : test.random_matrix(routine.precision, 1, 1);
    }
    if (round % 5 == 0) in.matrices["b"] = in.matrices["a"];
    const RoutineOutput out = test.call(routine, in);
    const Wide a = in.matrices["a"](0, 0);
    const Wide b = in.matrices["b"](0, 0);
    const Wide c = out.matrix("c")(0, 0);
    const Wide s = out.matrix("s")(0, 0);
    const Wide r = out.matrix("a")(0, 0);
    const Real limit = kTolerance * epsilon(routine.precision);
    const Real size = std::abs(a) + std::abs(b);
    test.at_most(std::abs(std::norm(c) + std::norm(s) - 1), limit, "|c|^2 + |s|^2 - 1");
    test.at_most(std::abs(c * a + s * b - r), limit * size, "error of r");
    test.at_most(std::abs(c * b - std::conj(s) * a), limit * size, "what is left of b");
    if (!is_complex(routine.precision)) expect_z(test, in, out, limit);
  }
}

// Returns H of param (h11, h21, h12, h22), with the elements that its flag implies.
Dense modified_rotation(const Dense& param) {
  const Real flag = param(0, 0).real();
  Dense h(2, 2);
  for (std::uint64_t i = 0; i < 4; ++i) h.elements[i] = param(i + 1, 0);
  if (flag == -2 || flag == 0) h(0, 0) = h(1, 1) = 1;
  if (flag == -2) h(0, 1) = h(1, 0) = 0;
  if (flag == 1) h(1, 0) = -1, h(0, 1) = 1;
  return h;
}

// Expects that H maps (x1, y1) to (x1', 0) and keeps d1 x^2 + d2 y^2 (Lawson, Hanson, Kincaid and
// Krogh, Basic Linear Algebra Subprograms for Fortran Usage, ACM TOMS 5, 1979: the modified Givens
// rotation).
void check_modified(RoutineTest& test, const Descriptor& routine, const RoutineInput& in) {
  const RoutineOutput out = test.call(routine, in);
  const Real limit = 4 * kTolerance * epsilon(routine.precision);
  const Real flag = out.matrix("param")(0, 0).real();
  test.require(flag == -2 || flag == -1 || flag == 0 || flag == 1, "there is no such flag");
  const Dense h = modified_rotation(out.matrix("param"));
  const Dense v = column({in.matrices.at("x1")(0, 0).real(), in.scalars.at("y1").re});
  const Dense image = h * v;
  const Dense size = abs(h) * abs(v);
  test.at_most(std::abs(image(0, 0) - out.real("x1")), limit * size(0, 0).real(), "error of x1");
  if (out.real("d2") != 0) {  // the weight of y
    test.at_most(std::abs(image(1, 0)), limit * size(1, 0).real(), "what is left of y1");
  }
  const Dense before =
      diagonal({in.matrices.at("d1")(0, 0).real(), in.matrices.at("d2")(0, 0).real()});
  const Dense after = diagonal({out.real("d1"), out.real("d2")});
  const Dense bound = op('T', abs(h)) * abs(after) * abs(h) + abs(before);
  test.at_most(worst_ratio(op('T', h) * after * h - before, bound), limit, "change of the form");
}

void check_rotmg(RoutineTest& test, const Descriptor& routine) {
  RoutineInput in;
  const auto set = [&](Real d1, Real d2, Real x1, Real y1) {
    const auto exact = [&](Real x) { return rounded(routine.precision, Wide(x)); };
    in.matrices["d1"] = number(exact(d1));
    in.matrices["d2"] = number(exact(d2));
    in.matrices["x1"] = number(exact(x1));
    in.scalars["y1"] = {static_cast<double>(exact(y1).real()), 0};
  };
  in.matrices["param"] = Dense(5, 1);
  for (int round = 0; round < 60; ++round) {
    // Sizes that are far apart make the routine rescale.
    const auto size = [&] { return std::pow(Real{10}, test.uniform(-10, 10)); };
    set(size(), size(), test.uniform(-1, 1), test.uniform(-1, 1));
    check_modified(test, routine, in);
  }
  set(2, 3, 1, 0);  // the identity
  check_modified(test, routine, in);
  test.require(test.call(routine, in).real("param") == -2, "y1 = 0 does not give the identity");
  set(0, 3, 1, 0.5);
  check_modified(test, routine, in);
  set(-1, 3, 1, 0.5);  // no valid form: all results become zero
  const RoutineOutput out = test.call(routine, in);
  test.require(
      out.real("param") == -1 && norm_max(columns(op('T', out.matrix("param")), 1, 4)) == 0,
      "a negative d1 does not give the zero matrix");
  test.require(out.real("d1") == 0 && out.real("d2") == 0 && out.real("x1") == 0,
               "a negative d1 leaves something");
}

constexpr Oracle kOracles[] = {{"rotg", check_rotg}, {"rotmg", check_rotmg}};

}  // namespace

Oracles rotation_oracles() { return kOracles; }

}  // namespace ob::test
