// Schur forms. The ratios are those of LAPACK Working Note 41 (DHST01) and its file nep.in, below
// 20 (its ULP is twice the eps here):
// A - Z T Z^H
// / (n
// A
// eps) and
// I - Z^H Z
// / (n eps). A Schur form of A has A's Frobenius norm and eigenvalues.

#include <cmath>

#include "conformance/device/general_problem.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 40;
constexpr int kRounds = 12;

void check_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  in.dims = {{"n", test.some_size(20)}};
  const GeneralProblem problem =
      random_general(test, routine.precision, in.dim("n"), round % kSpectra);
  const Dense& a = in.matrices["a"] = problem.a;
  const RoutineOutput out = test.call(routine, in);
  const Wides values = eigenvalues_of(out);
  require_pairs(test, values, routine.precision);
  const Dense& t = out.matrix("a");
  expect_schur_form(test, t, values, routine.precision);
  test.require(out.integers("sdim")[0] == 0, "sdim is not 0 although nothing is sorted");
  const Real step = kRatio * static_cast<Real>(a.rows) * unit_roundoff(routine.precision);
  expect_near(test, values, problem.values, step * norm_one(a) * condition(problem.vectors));
  test.at_most(std::abs(norm_frobenius(t) - norm_frobenius(a)), step * norm_frobenius(a),
               "change of the norm");
  if (in.flag("jobvs") == 'N') return;
  const Dense& z = out.matrix("vs");
  test.at_most(unitarity(z, routine.precision), kRatio, "ratio of I - Z^H Z");
  test.at_most(norm_one(z * t * op('C', z) - a), step * norm_one(a), "A - Z T Z^H");
}

void check(RoutineTest& test, const Descriptor& routine) {
  for (RoutineInput in : test.flag_combinations(routine)) {
    for (int round = 0; round < kRounds; ++round) check_once(test, routine, in, round);
  }
}

constexpr Oracle kOracles[] = {{"gees", check}, {"geesx", check}};

}  // namespace

Oracles schur_oracles() { return kOracles; }

}  // namespace ob::test
