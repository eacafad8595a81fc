#pragma once
// Functions that the table's expressions call once they are C++. Only emitted code includes this.

#include <cstdint>
#include <initializer_list>

#include "base/contract.hpp"
#include "routines/descriptor.hpp"

namespace ob::expression {

inline bool is_zero(Complex value) noexcept { return value.re == 0 && value.im == 0; }
inline bool is_zero(double value) noexcept { return value == 0; }

inline bool one_of(char flag, const char* values) noexcept {
  for (; *values != '\0'; ++values) {
    if (flag == *values) return true;
  }
  return false;
}

inline Triangle triangle(char uplo, char diag) noexcept {
  if (diag == 'U') return uplo == 'U' ? Triangle::upper_strict : Triangle::lower_strict;
  return uplo == 'U' ? Triangle::upper : Triangle::lower;
}

/// Returns floor(log2(n)); 0 for n < 2.
inline std::int64_t log2(std::int64_t n) noexcept {
  return n < 2 ? 0 : 63 - __builtin_clzll(static_cast<unsigned long long>(n));
}
inline double log2(double n) noexcept {
  return static_cast<double>(log2(static_cast<std::int64_t>(n)));
}

/// Returns the product, at most INT64_MAX, so that the shape of a hostile call never looks small.
/// @pre no factor is negative
inline std::int64_t product(std::initializer_list<std::int64_t> factors) noexcept {
  std::int64_t value = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) return 0;
    if (__builtin_mul_overflow(value, factor, &value)) value = INT64_MAX;
  }
  return value;
}
inline double product(std::initializer_list<double> factors) noexcept {
  double value = 1;
  for (const double factor : factors) value *= factor;
  return value;
}

/// True if the n positions are the numbers from 1 to n.   @pre n <= 64
inline bool is_permutation(std::initializer_list<std::int64_t> positions) noexcept {
  std::uint64_t found = 0;
  for (const std::int64_t position : positions) {
    if (position < 1 || position > static_cast<std::int64_t>(positions.size())) return false;
    found |= std::uint64_t{1} << (position - 1);
  }
  return found == ~std::uint64_t{0} >> (64 - positions.size());
}

/// Appends an operand.
/// @pre operand.rows <= INT64_MAX && operand.cols <= INT64_MAX: the call is legal
inline void add(Operands& operands, const Operand& operand) noexcept {
  OB_EXPECT(operand.rows <= INT64_MAX && operand.cols <= INT64_MAX);
  operands.items[operands.count++] = operand;
}
inline std::uint64_t extent(std::int64_t count) noexcept {
  return static_cast<std::uint64_t>(count);
}

}  // namespace ob::expression
