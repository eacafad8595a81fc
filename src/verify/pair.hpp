#pragma once
// Complex numbers of the checks.

namespace ob::verify::detail {

/// A complex number with plain products: no library call treats infinities specially.
struct Pair {
  double re = 0;
  double im = 0;
};

/// |re| + |im|, which is at least the modulus and less than 1.5 times it.
inline double absolute(const Pair& v) noexcept {
  return __builtin_fabs(v.re) + __builtin_fabs(v.im);
}
inline Pair product(const Pair& a, const Pair& b) noexcept {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

}  // namespace ob::verify::detail
