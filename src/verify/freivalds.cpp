#include "verify/freivalds.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/arithmetic.hpp"
#include "verify/apply.hpp"
#include "verify/random.hpp"

namespace ob::verify {
namespace {

using detail::Pair;
using detail::Vector;

// The number of suspicious rows that are checked element by element. They are the worst ones.
constexpr std::size_t kRows = 4;
// A row is suspicious if its residual is more than this many standard deviations of its rounding
// error, for independent roundings (Higham, section 2.8). A wrong assumption costs only time.
constexpr double kProductDeviations = 8;
constexpr double kDoubleRoundoff = 0x1p-53;

constexpr bool is_single(Precision p) { return p == Precision::s || p == Precision::c; }
constexpr bool is_complex(Precision p) { return p == Precision::c || p == Precision::z; }

double scaled(double scale, double v) { return scale * v; }
Pair scaled(const Pair& scale, const Pair& v) { return detail::product(scale, v); }

template <class Value>
Value value_of(const Complex& scale) {
  if constexpr (std::is_same_v<Value, double>) {
    return scale.re;
  } else {
    return {scale.re, scale.im};
  }
}

/// The limits of the precision's arithmetic.
struct Limits {
  explicit Limits(const Equation& equation)
      : parts(is_complex(equation.precision) ? 2 : 1),
        roundoff(is_single(equation.precision) ? 0x1p-24 : 0x1p-53),
        smallest(is_single(equation.precision) ? 0x1p-126 : 0x1p-1022),
        largest(is_single(equation.precision) ? 0x1p+128 : std::numeric_limits<double>::max()),
        roundings(static_cast<double>(equation.roundings) + 16) {}
  double parts;
  double roundoff;
  double smallest;
  double largest;
  double roundings;

  /// The error bound of an element of the sum relative to its magnitude.
  double relative() const { return 4 * parts * roundings * (roundoff + kDoubleRoundoff); }
};

template <class Element>
class Test {
 public:
  using Value = detail::ValueOf<Element>;

  explicit Test(const Equation& equation) : equation_(equation), limits_(equation) {}

  Verification run(std::uint64_t seed) {
    Vector<Value> x(equation_.cols);
    Random random(seed);
    for (std::uint64_t j = 0; j < equation_.cols; ++j) {
      const double value = random.away_from_zero();
      if constexpr (std::is_same_v<Value, double>) {
        x.value[j] = value;
      } else {
        x.value[j] = {value, 0};
      }
      x.magnitude[j] = __builtin_fabs(value);
    }
    const Vector<Value> given = sum(x, false, kGiven);
    double largest = 0;
    for (const double m : given.magnitude) {
      if (!is_finite(m)) return {};
      largest = std::max(largest, m);
    }
    Vector<Value> r = sum(x, false, kResults);
    bool finite = true;
    for (std::uint64_t i = 0; i < equation_.rows; ++i) {
      detail::add_to(r.value[i], given.value[i]);
      r.magnitude[i] += given.magnitude[i];
      finite = finite && is_finite(r.magnitude[i]);
    }
    // Finite operands of moderate size do not give infinities.
    if (!finite && !(largest < limits_.largest * 0x1p-8)) return {};
    if (!finite) return {Verdict::wrong, std::numeric_limits<double>::infinity(), largest};
    return judge_rows(r);
  }

 private:
  enum Which { kGiven, kResults, kAll };

  Vector<Value> apply(const Term& term, bool transposed, Vector<Value> x) const {
    const std::size_t n = term.factors.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Factor& factor = term.factors[transposed ? i : n - 1 - i];
      const char own = factor.kind == Factor::Kind::triangle_of_product ? 'N' : factor.op;
      x = detail::apply<Element>(factor, transposed ? detail::transposed(own) : own, std::move(x));
    }
    return x;
  }

  Vector<Value> sum(const Vector<Value>& x, bool transposed, Which which) const {
    const std::uint64_t n = transposed ? equation_.cols : equation_.rows;
    Vector<Value> total(n);
    for (const Term& term : equation_.terms) {
      if (which != kAll && term.result != (which == kResults)) continue;
      const Vector<Value> part = apply(term, transposed, x);
      const auto scale = value_of<Value>(term.scale);
      for (std::uint64_t i = 0; i < n; ++i) {
        detail::add_to(total.value[i], scaled(scale, part.value[i]));
        total.magnitude[i] += detail::absolute(scale) * part.magnitude[i];
      }
    }
    return total;
  }

  Verification judge_rows(const Vector<Value>& r) const {
    const auto n = static_cast<double>(equation_.cols);
    const double library = square_root(limits_.roundings) * limits_.roundoff;
    const double own = square_root(limits_.roundings + 2 * n) * kDoubleRoundoff;
    const double usual = kProductDeviations * limits_.parts * (library + own) / square_root(n);
    std::vector<std::pair<double, std::uint64_t>> suspicious;
    for (std::uint64_t i = 0; i < equation_.rows; ++i) {
      const double residual = detail::absolute(r.value[i]);
      if (residual > usual * r.magnitude[i]) suspicious.emplace_back(residual / r.magnitude[i], i);
    }
    const std::size_t count = std::min(kRows, suspicious.size());
    std::partial_sort(suspicious.begin(), suspicious.begin() + static_cast<std::ptrdiff_t>(count),
                      suspicious.end(), [](const auto& a, const auto& b) { return a > b; });
    suspicious.resize(count);
    for (const auto& [ratio, row] : suspicious) {
      const Verification verification = judge_row(row);
      if (verification.verdict == Verdict::wrong) return verification;
    }
    return {Verdict::right, 0, 0};
  }

  Verification judge_row(std::uint64_t row) const {
    Vector<Value> unit(equation_.rows);
    if constexpr (std::is_same_v<Value, double>) {
      unit.value[row] = 1;
    } else {
      unit.value[row] = {1, 0};
    }
    unit.magnitude[row] = 1;
    const Vector<Value> elements = sum(unit, true, kAll);
    const double underflow = absolute_bound();
    for (std::uint64_t j = 0; j < equation_.cols; ++j) {
      const double residual = detail::absolute(elements.value[j]);
      const double bound = limits_.relative() * elements.magnitude[j] + underflow;
      if (residual > bound) return {Verdict::wrong, residual, bound};
    }
    return {Verdict::right, 0, 0};
  }

  // The error bound for underflow: the error of results or products too small for the precision,
  // multiplied by the largest factors that may follow.
  double absolute_bound() const {
    double amplified = 1;
    for (const Term& term : equation_.terms) {
      double factor = 1 + detail::absolute(value_of<Value>(term.scale));
      for (const Factor& f : term.factors) {
        factor *= std::max(1.0, largest_of(f.first));
        if (f.second.data != nullptr) factor *= std::max(1.0, largest_of(f.second));
      }
      amplified = std::max(amplified, factor);
    }
    return 4 * limits_.parts * limits_.roundings * limits_.smallest * amplified;
  }

  static double largest_of(const Matrix& m) {
    if (m.data == nullptr) return 1;
    double largest = 0;
    for (std::uint64_t j = 0; j < m.cols; ++j) {
      const Element* a = static_cast<const Element*>(m.data) + j * m.ld;
      const bool upper = m.triangle == Triangle::upper || m.triangle == Triangle::upper_strict;
      const bool lower = m.triangle == Triangle::lower || m.triangle == Triangle::lower_strict;
      const std::uint64_t end = upper ? std::min(m.rows, j + 1) : m.rows;
      for (std::uint64_t i = lower ? std::min(m.rows, j) : 0; i < end; ++i)
        largest = std::max(largest, detail::absolute(detail::value_of<false>(a[i])));
    }
    return largest;
  }

  const Equation& equation_;
  const Limits limits_;
};

}  // namespace

Verification verify_equation(const Equation& equation, std::uint64_t seed) {
  switch (equation.precision) {
    case Precision::s: return Test<float>(equation).run(seed);
    case Precision::d: return Test<double>(equation).run(seed);
    case Precision::c: return Test<std::complex<float>>(equation).run(seed);
    case Precision::z: return Test<std::complex<double>>(equation).run(seed);
  }
  return {};
}

}  // namespace ob::verify
