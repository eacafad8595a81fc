#pragma once
// Real-to-real transforms, element by element: the input of the embedding transform, and the result
// made from its output. Every element depends on reads only, so that a kernel can use one thread
// per element.
//
// Definitions: FFTW 3.3 manual, sections 4.8.2 to 4.8.5. x is the line, y its transform, n their
// length, f the embedding's result, F that of r2c continued by F(n - k) = F*(k); w(k) = exp(2 pi i
// k / order), `order` from root_order().

#include <cstdint>

#include "device/unit_roots.hpp"
#include "routines/fft.hpp"

namespace ob::detail {

inline constexpr double kSqrt2 = 1.41421356237309504880;

constexpr bool is_type_iv(RealTransform real) noexcept {
  return real == RealTransform::redft11 || real == RealTransform::rodft11;
}

/// The order of the roots that the formulas use; 1 if they use none.
constexpr std::uint64_t root_order(RealTransform real, std::uint64_t n) noexcept {
  switch (real) {
    case RealTransform::redft01:
    case RealTransform::redft10:
    case RealTransform::rodft01:
    case RealTransform::rodft10: return 4 * n;
    case RealTransform::redft11:
    case RealTransform::rodft11: return n % 2 == 0 ? 16 * n : 1;
    default: return 1;
  }
}

/// Element `index` of a line or a result, or its negative.
struct SignedIndex {
  std::uint64_t index = 0;
  bool negative = false;
};

// For odd p and q, c(p, q) = cos(2 pi p q / 8n) has c(8n - p, q) = c(p, q) and c(4n +- p, q) =
// -c(p, q): any odd p < 8n is +-(2j + 1) with j < n.
constexpr SignedIndex odd_place(std::uint64_t p, std::uint64_t n) noexcept {
  if (p < 2 * n) return {p / 2, false};
  if (p < 4 * n) return {(4 * n - p) / 2, true};
  if (p < 6 * n) return {(p - 4 * n) / 2, true};
  return {(8 * n - p) / 2, false};
}

// REDFT11 of odd n: y_k = 2 sum x_j c(2j + 1, 2k + 1). One of 2j + 1 and what odd_place() says is
// the same is n modulo 8: p = n + 8t. With q = n + 8s likewise, p q / 8n = n/8 + t + s + 8ts/n, so
// y = +-2 Re(exp(-i pi n/4) F(8s)), F the spectrum of +-x in the order of t, and 8s = q modulo n.
constexpr SignedIndex odd_type_iv_source(std::uint64_t n, std::uint64_t t) noexcept {
  const std::uint64_t p = n + 8 * t;
  return odd_place(p < 8 * n ? p : p - 8 * n, n);
}

constexpr SignedIndex odd_type_iv_result(std::uint64_t n, std::uint64_t k) noexcept {
  const std::uint64_t q = 2 * k + 1;
  const std::uint64_t wanted = n % 8;
  if (q % 8 == wanted) return {q % n, false};
  if ((8 * n - q) % 8 == wanted) return {(8 * n - q) % n, false};
  if ((4 * n + q) % 8 == wanted) return {(4 * n + q) % n, true};
  return {(4 * n - q) % n, true};
}

/// Element i of the input of an r2c embedding.   x: number of the line -> double
template <RealTransform real, class Line>
constexpr double real_input(std::uint64_t n, const Line& x, std::uint64_t i) noexcept {
  if constexpr (real == RealTransform::redft00) {
    // the even sequence of period 2(n - 1): x_0 ... x_(n-1) x_(n-2) ... x_1
    return x(i < n ? i : 2 * (n - 1) - i);
  } else if constexpr (real == RealTransform::rodft00) {
    // the odd one of period 2(n + 1): 0 x_0 ... x_(n-1) 0 -x_(n-1) ... -x_0
    if (i == 0 || i == n + 1) return 0;
    return i <= n ? x(i - 1) : -x(2 * n + 1 - i);
  } else if constexpr (real == RealTransform::redft10) {
    return 2 * i < n ? x(2 * i) : x(2 * (n - i) - 1);  // x_0 x_2 x_4 ... x_5 x_3 x_1
  } else if constexpr (real == RealTransform::rodft10) {
    return 2 * i < n ? x(2 * i) : -x(2 * (n - i) - 1);
  } else if constexpr (is_type_iv(real)) {
    const SignedIndex from = odd_type_iv_source(n, i);
    const double value = x(real == RealTransform::redft11 ? from.index : n - 1 - from.index);
    return from.negative ? -value : value;
  } else {
    return x(i);
  }
}

/// Element i of the input of a c2r or c2c embedding.   roots: k -> w(k)
template <RealTransform real, class Line, class Roots>
constexpr Complex complex_input(std::uint64_t n, const Line& x, const Roots& roots,
                                std::uint64_t i) noexcept {
  if constexpr (real == RealTransform::hc2r) {
    return {x(i), i > 0 && 2 * i < n ? x(n - i) : 0};
  } else if constexpr (is_type_iv(real)) {
    // n = 2m, j, k < m, angle = 2 pi (4j + 1)(4k + 1) / 8n = 2 pi (jk/m + (8j + 1 + 8k + 1)/16n):
    // y_2k - i y_(n-1-2k) = 2 sum (x_2j + i x_(n-1-2j)) exp(-i angle)
    const bool even = real == RealTransform::redft11;
    const double a = x(2 * i);
    const double b = x(n - 1 - 2 * i);
    return conjugate(roots(8 * i + 1)) * (even ? Complex{a, b} : Complex{b, a});
  } else {
    // REDFT01: w(i) (x_i - i x_(n-i)) is half of a Hermitian sequence, since w(n - i) = i w*(i);
    // its c2r has sum x_j cos(pi j (4m + 1) / 2n), which is y_2m and, counted from its end,
    // y_(2m+1)
    const auto at = [&](std::uint64_t j) {
      return x(real == RealTransform::redft01 ? j : n - 1 - j);
    };
    if (i == 0) return {at(0), 0};
    if (2 * i == n) return {kSqrt2 * at(i), 0};
    return roots(i) * Complex{at(i), -at(n - i)};
  }
}

// F(k) of any k < n from the half spectrum.
template <class Spectrum>
constexpr Complex continued(std::uint64_t n, const Spectrum& f, std::uint64_t k) noexcept {
  return 2 * k <= n ? f(k) : conjugate(f(n - k));
}

// y_k of REDFT10: with v the permuted line, sum x_j cos(pi (2j + 1) k / 2n) is sum v_m cos(pi (4m +
// 1) k / 2n) = Re(w*(k) F(k)).
template <class Spectrum, class Roots>
constexpr double redft10(std::uint64_t n, const Spectrum& f, const Roots& roots,
                         std::uint64_t k) noexcept {
  const Complex w = roots(k);
  const Complex value = continued(n, f, k);
  return 2 * (w.re * value.re + w.im * value.im);
}

template <class Spectrum>
constexpr double odd_redft11(std::uint64_t n, const Spectrum& f, std::uint64_t k) noexcept {
  const SignedIndex at = odd_type_iv_result(n, k);
  const Complex value = continued(n, f, at.index);
  const bool cosine_negative = n % 8 == 3 || n % 8 == 5;  // of exp(-i pi n/4)
  const bool sine_positive = n % 8 == 5 || n % 8 == 7;
  const double sum =
      (cosine_negative ? -value.re : value.re) + (sine_positive ? -value.im : value.im);
  return kSqrt2 * (at.negative ? -sum : sum);
}

template <class Spectrum, class Roots>
constexpr double even_redft11(std::uint64_t n, const Spectrum& f, const Roots& roots,
                              std::uint64_t k) noexcept {
  const std::uint64_t half = k % 2 == 0 ? k / 2 : (n - 1 - k) / 2;
  const Complex value = conjugate(roots(8 * half + 1)) * f(half);
  return k % 2 == 0 ? 2 * value.re : -2 * value.im;
}

/// y_k from the result of an r2c or c2c embedding.   f: its element -> Complex
template <RealTransform real, class Spectrum, class Roots>
constexpr double from_complex(std::uint64_t n, const Spectrum& f, const Roots& roots,
                              std::uint64_t k) noexcept {
  if constexpr (real == RealTransform::r2hc) {
    return 2 * k <= n ? f(k).re : f(n - k).im;
  } else if constexpr (real == RealTransform::dht) {
    const Complex value = continued(n, f, k);
    return value.re - value.im;
  } else if constexpr (real == RealTransform::redft00) {
    return f(k).re;
  } else if constexpr (real == RealTransform::rodft00) {
    return -f(k + 1).im;
  } else if constexpr (real == RealTransform::redft10) {
    return redft10(n, f, roots, k);
  } else if constexpr (real == RealTransform::rodft10) {
    // sin(pi (j + 1/2)(k + 1)/n) = (-1)^j cos(pi (j + 1/2)(n - 1 - k)/n)
    return redft10(n, f, roots, n - 1 - k);
  } else {
    // sin(pi (n - 1 - j + 1/2)(k + 1/2)/n) = (-1)^k cos(pi (j + 1/2)(k + 1/2)/n)
    const double value = n % 2 == 0 ? even_redft11(n, f, roots, k) : odd_redft11(n, f, k);
    return real == RealTransform::rodft11 && k % 2 == 1 ? -value : value;
  }
}

/// y_k from the result of a c2r embedding.   f: its element -> double
template <RealTransform real, class Reals>
constexpr double from_real(std::uint64_t n, const Reals& f, std::uint64_t k) noexcept {
  if constexpr (real == RealTransform::hc2r) {
    return f(k);
  } else {
    // RODFT01: sin(pi (n - j)(k + 1/2)/n) = (-1)^k cos(pi j (k + 1/2)/n)
    const double value = f(k % 2 == 0 ? k / 2 : n - 1 - k / 2);
    return real == RealTransform::rodft01 && k % 2 == 1 ? -value : value;
  }
}

}  // namespace ob::detail
