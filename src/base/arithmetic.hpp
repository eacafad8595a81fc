#pragma once
// Replacements for functions of libm, which the drop-in library does not link.

#include <bit>
#include <cstdint>

namespace ob {

inline bool is_finite(double v) noexcept { return v - v == 0; }

/// Returns the square root with an error of a few units in the last place; 0 for negative numbers
/// and NaN. Newton's method starts from a guess with half the exponent.
inline double square_root(double v) noexcept {
  if (!(v > 0) || !is_finite(v)) return v > 0 ? v : 0;
  double root = std::bit_cast<double>((std::bit_cast<std::uint64_t>(v) >> 1U) + (511ULL << 52U));
  for (int i = 0; i < 5; ++i) root = 0.5 * (root + v / root);
  return root;
}

/// Returns the cube root with an error of a few units in the last place; 0 for numbers that are not
/// positive.
inline double cube_root(double v) noexcept {
  if (!(v > 0) || !is_finite(v)) return v > 0 ? v : 0;
  double root = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) / 3 + (682ULL << 52U));
  for (int i = 0; i < 5; ++i) root = (2 * root + v / (root * root)) / 3;
  return root;
}

}  // namespace ob
