#pragma once
// Computes op(M) x and |op(M)| |x| in one pass over M, in double precision.

#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "verify/equation.hpp"
#include "verify/pair.hpp"

namespace ob::verify::detail {

template <class Element>
inline constexpr bool kIsComplex = !std::is_floating_point_v<Element>;

/// The type that computes with elements.
template <class Element>
using ValueOf = std::conditional_t<kIsComplex<Element>, Pair, double>;

inline double absolute(double v) noexcept { return __builtin_fabs(v); }
inline void add_to(double& y, double v) noexcept { y += v; }
inline void add_to(Pair& y, const Pair& v) noexcept {
  y.re += v.re;
  y.im += v.im;
}
inline double product(double a, double b) noexcept { return a * b; }

/// The element as a value, conjugated or not.
template <bool kConjugate, class Real>
double value_of(Real a) noexcept {
  return static_cast<double>(a);
}
template <bool kConjugate, class Real>
Pair value_of(const std::complex<Real>& a) noexcept {
  const auto im = static_cast<double>(a.imag());
  return {static_cast<double>(a.real()), kConjugate ? -im : im};
}

/// A vector and, for each element, the sum of the magnitudes of its terms.
template <class Value>
struct Vector {
  explicit Vector(std::uint64_t n = 0) : value(n), magnitude(n) {}
  std::vector<Value> value;
  std::vector<double> magnitude;
};

/// Computes y += a x_j for one column.
template <bool kConjugate, class Element, class Value>
void add_column(const Element* a, std::uint64_t n, Value x, double x_magnitude, Value* y,
                double* magnitude) noexcept {
  for (std::uint64_t i = 0; i < n; ++i) {
    const Value v = value_of<kConjugate>(a[i]);
    add_to(y[i], product(v, x));
    magnitude[i] += absolute(v) * x_magnitude;
  }
}

/// Computes y_j += a^T x for one column, in parts that do not depend on each other.
template <bool kConjugate, class Element, class Value>
void add_dot(const Element* a, std::uint64_t n, const Value* x, const double* x_magnitude, Value& y,
             double& magnitude) noexcept {
  constexpr std::uint64_t kParts = 8;
  Value sums[kParts] = {};
  double magnitudes[kParts] = {};
  std::uint64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (std::uint64_t p = 0; p < kParts; ++p) {
      const Value v = value_of<kConjugate>(a[i + p]);
      add_to(sums[p], product(v, x[i + p]));
      magnitudes[p] += absolute(v) * x_magnitude[i + p];
    }
  }
  for (; i < n; ++i) {
    const Value v = value_of<kConjugate>(a[i]);
    add_to(sums[0], product(v, x[i]));
    magnitudes[0] += absolute(v) * x_magnitude[i];
  }
  for (std::uint64_t p = 0; p < kParts; ++p) {
    add_to(y, sums[p]);
    magnitude += magnitudes[p];
  }
}

/// Computes factor * x. `op` replaces the op of the factor.
template <class Element>
Vector<ValueOf<Element>> apply(const Factor& factor, char op, Vector<ValueOf<Element>> x);

/// The op of a factor in the transposed product.
constexpr char transposed(char op) noexcept {
  switch (op) {
    case 'N': return 'T';
    case 'T': return 'N';
    case 'C': return 'R';
    default: return 'C';
  }
}

extern template Vector<double> apply<float>(const Factor&, char, Vector<double>);
extern template Vector<double> apply<double>(const Factor&, char, Vector<double>);
extern template Vector<Pair> apply<std::complex<float>>(const Factor&, char, Vector<Pair>);
extern template Vector<Pair> apply<std::complex<double>>(const Factor&, char, Vector<Pair>);

}  // namespace ob::verify::detail
