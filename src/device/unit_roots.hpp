#pragma once
// Roots of unity: the twiddle factors of transforms that are composed of others.

#include <cstdint>
#include <vector>

#include "base/contract.hpp"
#include "routines/argument.hpp"

namespace ob {

constexpr Complex operator*(Complex a, Complex b) noexcept {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
constexpr Complex operator+(Complex a, Complex b) noexcept { return {a.re + b.re, a.im + b.im}; }
constexpr Complex operator-(Complex a, Complex b) noexcept { return {a.re - b.re, a.im - b.im}; }
constexpr Complex conjugate(Complex a) noexcept { return {a.re, -a.im}; }

/// Largest order of a root: eight times it is computed in 64 bits.
inline constexpr std::uint64_t kMaxRootOrder = std::uint64_t{1} << 60;

/// Returns exp(2 pi i k / n), each part rounded once: the angle is reduced to an octant in
/// integers.
/// @pre k < n && n <= kMaxRootOrder
Complex unit_root(std::uint64_t k, std::uint64_t n) noexcept;

/// Computes exp(sign 2 pi i k / n) for many k.
/// Memory:  2 sqrt(n) entries of 16 bytes
/// Cost:    one complex product; |error| < 5 2^-53: two table entries of at most 2^-53 sqrt(1/2)
///          each, and sqrt(5) 2^-53 for the product (Brent, Percival, Zimmermann 2007)
class UnitRoots {
 public:
  /// @pre n > 0 && n <= kMaxRootOrder && (sign == 1 || sign == -1)
  UnitRoots(std::uint64_t n, int sign);
  /// @pre k < n
  Complex operator()(std::uint64_t k) const noexcept {
    OB_EXPECT(k < n_);
    return coarse_[k >> bits_] * fine_[k & mask_];
  }

 private:
  std::uint64_t n_;
  int bits_ = 0;
  std::uint64_t mask_ = 0;
  std::vector<Complex> coarse_;
  std::vector<Complex> fine_;
};

}  // namespace ob
