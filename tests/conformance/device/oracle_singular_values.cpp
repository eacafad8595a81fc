// Singular value decompositions with all options for vectors. Matrices are made from their singular
// values.
//
// The ratios are those of LAPACK Working Note 41 (DBDT01, DORT01) and its file svd.in, below 50
// (its ULP is twice the eps here):
// A - U S V^H
// / (n
// A
// eps),
// I - U^H U
// / (n eps). The error of a singular value is at most c n eps
// A
// (LAPACK Users' Guide, 3rd edition, 4.9.1).

#include <algorithm>

#include "conformance/device/algebra.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

constexpr Real kRatio = 100;

struct Problem {
  Dense a;
  Reals values;  // descending
};

Problem random_problem(RoutineTest& test, Precision precision, std::uint64_t m, std::uint64_t n,
                       int spectrum) {
  Problem made;
  made.values = random_spectrum(test, std::min(m, n), spectrum);
  for (Real& s : made.values) s = std::abs(s);
  std::sort(made.values.rbegin(), made.values.rend());
  made.a = rounded(precision, random_unitary(test, precision, m) * diagonal(made.values, m, n) *
                                  op('C', random_unitary(test, precision, n)));
  return made;
}

// The vectors of a call: empty if none were requested. Rows of vt are right vectors.
struct Vectors {
  Dense u;
  Dense vt;
};

// Returns A's left vectors from U, or with job 'O' from A, and likewise the right ones.
Vectors vectors_of(char jobu, char jobvt, const RoutineInput& in, const RoutineOutput& out) {
  const std::uint64_t k = std::min(in.dim("m"), in.dim("n"));
  Vectors made;
  if (jobu == 'A' || jobu == 'S') made.u = out.matrix("u");
  if (jobvt == 'A' || jobvt == 'S') made.vt = out.matrix("vt");
  if (jobu == 'O') made.u = columns(out.matrix("a"), 0, k);
  if (jobvt == 'O') made.vt = block(out.matrix("a"), 0, 0, k, in.dim("n"));
  return made;
}

void expect_values(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                   const Reals& s) {
  test.require(std::is_sorted(s.rbegin(), s.rend()), "S does not descend");
  test.require(s.back() >= 0, "a singular value is negative");
  const Real n = static_cast<Real>(std::max(problem.a.rows, problem.a.cols));
  const Real error = norm_max(column(s) - column(problem.values));
  test.at_most(ratio(error, n * problem.values[0], routine.precision), kRatio,
               "ratio of a singular value's error");
}

// Checks A - U S V^H if both sides are present; with one side, checks the images of its vectors.
void expect_vectors(RoutineTest& test, const Descriptor& routine, const Problem& problem,
                    const Reals& s, const Vectors& got) {
  const Dense& a = problem.a;
  const Real n = static_cast<Real>(std::max(a.rows, a.cols));
  const auto small = [&](const Dense& error, Real size, const char* what) {
    test.at_most(ratio(error, n * size, routine.precision), kRatio, what);
  };
  if (got.u.cols > 0) small(op('C', got.u) * got.u - identity(got.u.cols), 1, "ratio of I - U^H U");
  if (got.vt.cols > 0) {
    small(got.vt * op('C', got.vt) - identity(got.vt.rows), 1, "ratio of I - V^H V");
  }
  if (got.u.cols > 0 && got.vt.cols > 0) {
    small(got.u * diagonal(s, got.u.cols, got.vt.rows) * got.vt - a, norm_one(a),
          "ratio of A - U S V^H");
    return;
  }
  // The images of one side's vectors are orthogonal and have the singular values as lengths.
  const Dense images = got.u.cols > 0 ? op('C', a) * got.u : a * op('C', got.vt);
  Reals squares = s;
  for (Real& x : squares) x *= x;
  if (images.cols == 0) return;
  small(op('C', images) * images - diagonal(squares, images.cols, images.cols),
        norm_one(a) * norm_one(op('C', a)), "ratio of the images of vectors");
}

void check_once(RoutineTest& test, const Descriptor& routine, RoutineInput& in, int round) {
  const Problem problem =
      random_problem(test, routine.precision, in.dim("m"), in.dim("n"), round % kSpectra);
  in.matrices["a"] = problem.a;
  const RoutineOutput out = test.call(routine, in);
  const Reals s = out.reals("s");
  expect_values(test, routine, problem, s);
  char jobu = 'N';
  char jobvt = 'N';
  if (in.flags.count("jobu") != 0) {
    jobu = in.flag("jobu");
    jobvt = in.flag("jobvt");
  } else if (in.flag("jobz") == 'O') {  // A gets the short side's vectors
    const bool tall = in.dim("m") >= in.dim("n");
    jobu = tall ? 'O' : 'A';
    jobvt = tall ? 'A' : 'O';
  } else {
    jobu = jobvt = in.flag("jobz");
  }
  expect_vectors(test, routine, problem, s, vectors_of(jobu, jobvt, in, out));
}

void check(RoutineTest& test, const Descriptor& routine) {
  // Square, slightly longer, and so long that the routines start with QR or LQ. Divide and conquer
  // divides sizes above 25.
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {1, 1}, {1, 4}, {5, 1}, {7, 7}, {9, 6}, {6, 9}, {20, 5}, {5, 20}, {31, 29}};
  for (RoutineInput in : test.flag_combinations(routine)) {
    int round = 0;
    for (const auto& [m, n] : kShapes) {
      in.dims = {{"m", m}, {"n", n}};
      check_once(test, routine, in, round++);
    }
    for (int more = 0; more < 3; ++more) {
      in.dims = {{"m", test.some_size(15)}, {"n", test.some_size(15)}};
      check_once(test, routine, in, static_cast<int>(test.random(0, kSpectra - 1)));
    }
  }
}

constexpr Oracle kOracles[] = {{"gesvd", check}, {"gesdd", check}};

}  // namespace

Oracles singular_value_oracles() { return kOracles; }

}  // namespace ob::test
