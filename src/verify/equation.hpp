#pragma once
// An equation between matrices that holds if the results of a call are correct:
// sum over terms of scale * M1 M2 ... = 0.

#include <cstdint>
#include <vector>

#include "base/layout.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::verify {

/// A matrix in host memory, column-major. Elements outside the triangle are 0, or mirror the
/// triangle.
struct Matrix {
  enum class Mirror : std::uint8_t { none, symmetric, hermitian };
  const void* data = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld = 0;
  Triangle triangle = Triangle::full;  ///< *_strict: the diagonal is 1
  Mirror mirror = Mirror::none;        ///< a mirror other than none requires a triangle
};

/// One factor of a term.
struct Factor {
  enum class Kind : std::uint8_t {
    matrix,               ///< op(first)
    exchanges,            ///< P = P_0 P_1 ..., where P_i exchanges rows i and pivots[i] - 1
    triangle_of_product,  ///< one triangle of op(first) second_op(second); the rest is 0
  };
  Matrix first;
  char op = 'N';  ///< N, T, C, or R (conjugated but not transposed)
  Kind kind = Kind::matrix;
  const std::int64_t* pivots = nullptr;
  std::uint64_t pivot_count = 0;
  Matrix second;
  char second_op = 'N';
  Triangle triangle = Triangle::full;
};

struct Term {
  Complex scale{1, 0};
  std::vector<Factor> factors;  ///< an empty list is the identity
  bool result = false;          ///< contains a result, which is wrong if it is not finite
};

struct Equation {
  Precision precision = Precision::d;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<Term> terms;
  std::uint64_t roundings = 0;  ///< number of successive roundings of one element in a library
};

}  // namespace ob::verify
