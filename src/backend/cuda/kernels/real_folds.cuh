// Kernels before and after the real or complex transform that does the work of a real-to-real one.
// src/device/detail/real_formulas.hpp has formulas and notation. Kinds have FFTW's numbers.
//
// Each thread computes one element. Lines are those of one dimension of packed arrays. Line l
// begins at (l / inner) n inner + l % inner, and its elements are `inner` apart.

namespace ob_folds {

typedef long long Index;

enum Kind {
  kR2hc,
  kHc2r,
  kDht,
  kRedft00,
  kRedft01,
  kRedft10,
  kRedft11,
  kRodft00,
  kRodft01,
  kRodft10,
  kRodft11
};

struct Number {
  double re;
  double im;
};

__device__ inline Number times(Number a, Number b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ inline Number conjugate(Number a) { return {a.re, -a.im}; }

// exp(2 pi i k / order). Callers keep k below a quarter of order, so that 2k/order is accurate to
// 2^-55.
__device__ inline Number root(Index k, Index order) {
  Number w;
  sincospi(2.0 * (double)k / (double)order, &w.im, &w.re);
  return w;
}

// Accesses real numbers at equal distances.
template <class Real>
struct Line {
  const Real* data;
  Index step;
  __device__ double operator()(Index i) const { return (double)data[i * step]; }
};

// Element `index`, or its negative.
struct Place {
  Index index;
  bool negative;
};

__device__ inline Place odd_place(Index p, Index n) {
  if (p < 2 * n) return {p / 2, false};
  if (p < 4 * n) return {(4 * n - p) / 2, true};
  if (p < 6 * n) return {(p - 4 * n) / 2, true};
  return {(8 * n - p) / 2, false};
}

__device__ inline Place odd_result(Index n, Index k) {
  const Index q = 2 * k + 1;
  const Index wanted = n % 8;
  if (q % 8 == wanted) return {q % n, false};
  if ((8 * n - q) % 8 == wanted) return {(8 * n - q) % n, false};
  if ((4 * n + q) % 8 == wanted) return {(4 * n + q) % n, true};
  return {(4 * n - q) % n, true};
}

// Element i of the input of an r2c transform.
template <class X>
__device__ double real_input(int kind, Index n, X x, Index i) {
  switch (kind) {
    case kRedft00: return x(i < n ? i : 2 * (n - 1) - i);
    case kRodft00:
      if (i == 0 || i == n + 1) return 0;
      return i <= n ? x(i - 1) : -x(2 * n + 1 - i);
    case kRedft10:
    case kRodft10: {
      if (2 * i < n) return x(2 * i);
      const double value = x(2 * (n - i) - 1);
      return kind == kRedft10 ? value : -value;
    }
    case kRedft11:
    case kRodft11: {
      const Index p = n + 8 * i;
      const Place from = odd_place(p < 8 * n ? p : p - 8 * n, n);
      const double value = x(kind == kRedft11 ? from.index : n - 1 - from.index);
      return from.negative ? -value : value;
    }
    default: return x(i);
  }
}

// Element i of the input of a c2r or c2c transform.
template <class X>
__device__ Number complex_input(int kind, Index n, X x, Index i) {
  if (kind == kHc2r) return {x(i), i > 0 && 2 * i < n ? x(n - i) : 0};
  if (kind == kRedft11 || kind == kRodft11) {
    const double a = x(2 * i);
    const double b = x(n - 1 - 2 * i);
    const Number value = kind == kRedft11 ? Number{a, b} : Number{b, a};
    return times(conjugate(root(8 * i + 1, 16 * n)), value);
  }
  const bool even = kind == kRedft01;
  const double a = x(even ? i : n - 1 - i);
  if (i == 0) return {a, 0};
  if (2 * i == n) return {1.41421356237309504880 * a, 0};
  return times(root(i, 4 * n), Number{a, -x(even ? n - i : i - 1)});
}

template <class Real>
struct Spectrum {
  const Real* data;
  __device__ Number operator()(Index k) const {
    return {(double)data[2 * k], (double)data[2 * k + 1]};
  }
};

template <class F>
__device__ Number continued(Index n, F f, Index k) {
  return 2 * k <= n ? f(k) : conjugate(f(n - k));
}

template <class F>
__device__ double redft10(Index n, F f, Index k) {
  const Number w = root(k, 4 * n);
  const Number value = continued(n, f, k);
  return 2 * (w.re * value.re + w.im * value.im);
}

template <class F>
__device__ double redft11(Index n, F f, Index k) {
  if (n % 2 == 0) {
    const Index half = k % 2 == 0 ? k / 2 : (n - 1 - k) / 2;
    const Number value = times(conjugate(root(8 * half + 1, 16 * n)), f(half));
    return k % 2 == 0 ? 2 * value.re : -2 * value.im;
  }
  const Place at = odd_result(n, k);
  const Number value = continued(n, f, at.index);
  const bool cosine_negative = n % 8 == 3 || n % 8 == 5;
  const bool sine_positive = n % 8 == 5 || n % 8 == 7;
  const double sum =
      (cosine_negative ? -value.re : value.re) + (sine_positive ? -value.im : value.im);
  return 1.41421356237309504880 * (at.negative ? -sum : sum);
}

// Element k of the transform, from the result of r2c or c2c.
template <class F>
__device__ double from_complex(int kind, Index n, F f, Index k) {
  switch (kind) {
    case kR2hc: return 2 * k <= n ? f(k).re : f(n - k).im;
    case kDht: {
      const Number value = continued(n, f, k);
      return value.re - value.im;
    }
    case kRedft00: return f(k).re;
    case kRodft00: return -f(k + 1).im;
    case kRedft10: return redft10(n, f, k);
    case kRodft10: return redft10(n, f, n - 1 - k);
    default: {
      const double value = redft11(n, f, k);
      return kind == kRodft11 && k % 2 == 1 ? -value : value;
    }
  }
}

// The same from the result of c2r.
template <class F>
__device__ double from_real(int kind, Index n, F f, Index k) {
  if (kind == kHc2r) return f(k);
  const double value = f(k % 2 == 0 ? k / 2 : n - 1 - k / 2);
  return kind == kRodft01 && k % 2 == 1 ? -value : value;
}

template <class Real>
__device__ void fold_in(int kind, int is_complex, Index n, Index inner, Index first, Index lines,
                        Index count, const Real* from, Real* to) {
  for (Index t = ob_kernels::first_index(); t < lines * count; t += ob_kernels::index_step()) {
    const Index line = first + t / count;
    const Index i = t % count;
    const Line<Real> x = {from + line / inner * n * inner + line % inner, inner};
    if (is_complex == 0) {
      to[t] = (Real)real_input(kind, n, x, i);
    } else {
      const Number value = complex_input(kind, n, x, i);
      to[2 * t] = (Real)value.re;
      to[2 * t + 1] = (Real)value.im;
    }
  }
}

template <class Real>
__device__ void fold_out(int kind, int is_complex, Index n, Index inner, Index first, Index lines,
                         Index count, const Real* from, Real* to) {
  for (Index t = ob_kernels::first_index(); t < lines * n; t += ob_kernels::index_step()) {
    const Index line = first + t / n;
    const Index k = t % n;
    const Real* const at = from + t / n * count * (is_complex == 0 ? 1 : 2);
    double value = 0;
    if (is_complex == 0) {
      const Line<Real> f = {at, 1};
      value = from_real(kind, n, f, k);
    } else {
      const Spectrum<Real> f = {at};
      value = from_complex(kind, n, f, k);
    }
    to[line / inner * n * inner + line % inner + k * inner] = (Real)value;
  }
}

}  // namespace ob_folds

#define OB_FOLDS_OF(p, Real)                                                                    \
  extern "C" __global__ void ob_fold_in_##p(int kind, int is_complex, long long n,              \
                                            long long inner, long long first, long long lines,  \
                                            long long count, const Real* from, Real* to) {      \
    ob_folds::fold_in<Real>(kind, is_complex, n, inner, first, lines, count, from, to);         \
  }                                                                                             \
  extern "C" __global__ void ob_fold_out_##p(int kind, int is_complex, long long n,             \
                                             long long inner, long long first, long long lines, \
                                             long long count, const Real* from, Real* to) {     \
    ob_folds::fold_out<Real>(kind, is_complex, n, inner, first, lines, count, from, to);        \
  }

OB_FOLDS_OF(s, float)
OB_FOLDS_OF(d, double)
