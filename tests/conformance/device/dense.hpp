#pragma once
// Dense matrices in long double: the suite's oracle. The code is slow and simple on purpose.

#include <complex>
#include <cstdint>
#include <vector>

#include "routines/descriptor.hpp"

namespace ob::test {

using Wide = std::complex<long double>;

/// Returns the smallest step above 1 in a precision.
long double epsilon(Precision precision);
bool is_complex(Precision precision);
/// Returns the precision of the real numbers in a precision: s for c, d for z.
Precision real_precision(Precision precision);

/// Reads one element from memory.
Wide load(Precision precision, const std::byte* at);
void store(Precision precision, std::byte* at, Wide value);

struct Dense {
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::vector<Wide> elements;

  Dense() = default;
  Dense(std::uint64_t m, std::uint64_t n) : rows(m), cols(n), elements(m * n) {}
  Wide& operator()(std::uint64_t i, std::uint64_t j) { return elements[j * rows + i]; }
  Wide operator()(std::uint64_t i, std::uint64_t j) const { return elements[j * rows + i]; }
};

Dense operator*(const Dense& a, const Dense& b);
Dense operator*(Wide alpha, const Dense& a);
Dense operator+(const Dense& a, const Dense& b);
Dense operator-(const Dense& a, const Dense& b);
/// Returns the absolute values of the elements, for bounds like |A| |B|.
Dense abs(const Dense& a);
/// Returns op(A) for trans = 'N', 'T' or 'C'.
Dense op(char trans, const Dense& a);
Dense identity(std::uint64_t n);
/// Rounds to values that the precision can hold, so that oracle and device get the same numbers.
Wide rounded(Precision precision, Wide value);
Dense rounded(Precision precision, Dense a);

/// Returns the matrix that one triangle represents; ignores the other triangle of `a`.
Dense symmetric(char uplo, const Dense& a);
/// Returns the Hermitian matrix; ignores the diagonal's imaginary parts, too.
Dense hermitian(char uplo, const Dense& a);
/// Returns the triangular matrix. diag = 'U': the diagonal is ones, and that of `a` is ignored.
Dense triangular(char uplo, char diag, const Dense& a);

/// Returns the largest |error_ij| / bound_ij in a triangle; 0 if it has no elements. An error with
/// a bound of 0 counts as infinite, and so does NaN.
long double worst_ratio(const Dense& error, const Dense& bound, Triangle triangle = Triangle::full);

bool in_triangle(Triangle triangle, std::uint64_t row, std::uint64_t column);

}  // namespace ob::test
