#pragma once
// What expressions of the table may call once they are C++. Only emitted code includes this.

#include <cstdint>

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

/// @pre rows >= 0 and cols >= 0 (Descriptor::legal was true)
inline void add(Operands& operands, std::uint8_t argument, bool read, bool written,
                std::uint32_t element_bytes, Triangle triangle, std::int64_t rows,
                std::int64_t cols) noexcept {
  operands.items[operands.count++] = {argument,
                                      read,
                                      written,
                                      element_bytes,
                                      triangle,
                                      static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(cols)};
}

}  // namespace ob::expression
