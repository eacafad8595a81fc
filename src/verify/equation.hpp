#pragma once
// An equation between matrices that holds if a call's results are right, and the test whether it
// does: sum over terms of scale * M1 M2 ... = 0, each element to within what rounding explains.

#include <cstdint>
#include <vector>

#include "base/layout.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "verify/verification.hpp"

namespace ob::verify {

/// A matrix in host memory, column-major; what a triangle leaves out is 0, or mirrored.
struct Matrix {
  enum class Mirror : std::uint8_t { none, symmetric, hermitian };
  const void* data = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld = 0;
  Triangle triangle = Triangle::full;  ///< *_strict: the diagonal is 1
  Mirror mirror = Mirror::none;        ///< needs a triangle
};

/// One factor of a term.
struct Factor {
  enum class Kind : std::uint8_t {
    matrix,               ///< op(first)
    exchanges,            ///< P = P_0 P_1 ..., where P_i exchanges rows i and pivots[i] - 1
    triangle_of_product,  ///< a triangle of op(first) second_op(second); the rest is 0
  };
  Matrix first;
  char op = 'N';  ///< N, T, C, or R: conjugated, not transposed
  Kind kind = Kind::matrix;
  const std::int64_t* pivots = nullptr;
  std::uint64_t pivot_count = 0;
  Matrix second;
  char second_op = 'N';
  Triangle triangle = Triangle::full;
};

struct Term {
  Complex scale{1, 0};
  std::vector<Factor> factors;  ///< none: the identity
  bool result = false;          ///< has no finite values only if it is wrong
};

struct Equation {
  Precision precision = Precision::d;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<Term> terms;
  std::uint64_t roundings = 0;  ///< of a library, one after another, for one element
};

/// right if every element of the sum that was looked at is within
///     4 c (roundings + 16) (u + u_double) * (sum over terms of |scale| |M1| |M2| ...)_ij
/// with the unit roundoff u of the precision, and c = 2 for complex ones (magnitudes are |re| +
/// |im|). First r = sum * x for a random x; rows of r that rounding hardly explains are then
/// computed element by element, so a right result never fails however unlucky x is.
/// Cost: a pass over each matrix, and a few more over the rows' ones only where r is suspicious
Verification verify_equation(const Equation& equation, std::uint64_t seed);

}  // namespace ob::verify
