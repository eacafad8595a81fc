#pragma once
// Dense matrices in long double: the suite's oracle. Slow and plain on purpose.

#include <complex>
#include <cstdint>
#include <vector>

#include "routines/descriptor.hpp"

namespace ob::test {

using Wide = std::complex<long double>;

/// The smallest step above 1 in a precision.
long double epsilon(Precision precision);
bool is_complex(Precision precision);
/// That of the real numbers of a precision: s for c, d for z.
Precision real_precision(Precision precision);

/// One element in memory.
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
/// Elementwise absolute values: for bounds like |A| |B|.
Dense abs(const Dense& a);
/// op(A) for trans = 'N', 'T' or 'C'.
Dense op(char trans, const Dense& a);
Dense identity(std::uint64_t n);
/// Rounds to values that the precision can hold, so that oracle and device see the same numbers.
Wide rounded(Precision precision, Wide value);
Dense rounded(Precision precision, Dense a);

/// The matrices that one triangle stands for; the other triangle of `a` is not looked at.
Dense symmetric(char uplo, const Dense& a);
/// The diagonal's imaginary parts are not looked at either.
Dense hermitian(char uplo, const Dense& a);
/// diag = 'U': ones on the diagonal, which is not looked at.
Dense triangular(char uplo, char diag, const Dense& a);

/// The largest |error_ij| / bound_ij (an error where the bound is 0 counts as infinite, NaN too),
/// looking only at elements of a triangle; 0 if there are none.
long double worst_ratio(const Dense& error, const Dense& bound, Triangle triangle = Triangle::full);

bool in_triangle(Triangle triangle, std::uint64_t row, std::uint64_t column);

}  // namespace ob::test
