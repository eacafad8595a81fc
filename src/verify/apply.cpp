#include "verify/apply.hpp"

#include <algorithm>
#include <utility>

namespace ob::verify::detail {
namespace {

using Mirror = Matrix::Mirror;

bool is_strict(Triangle t) noexcept {
  return t == Triangle::upper_strict || t == Triangle::lower_strict;
}
bool is_upper(Triangle t) noexcept { return t == Triangle::upper || t == Triangle::upper_strict; }
bool transposes(char op) noexcept { return op == 'T' || op == 'C'; }
bool conjugates(char op) noexcept { return op == 'C' || op == 'R'; }

struct Rows {
  std::uint64_t begin;
  std::uint64_t end;
};

// The rows of column j that are in memory, without the diagonal if `strict`.
Rows rows_of(const Matrix& m, std::uint64_t j, bool strict) noexcept {
  if (m.triangle == Triangle::full) return {0, m.rows};
  if (is_upper(m.triangle)) return {0, std::min(m.rows, j + (strict ? 0 : 1))};
  return {std::min(m.rows, j + (strict ? 1 : 0)), m.rows};
}

template <class Element>
const Element* column(const Matrix& m, std::uint64_t j) noexcept {
  return static_cast<const Element*>(m.data) + j * m.ld;
}

template <class Value>
void add_element(Vector<Value>& y, const Vector<Value>& x, std::uint64_t i) noexcept {
  add_to(y.value[i], x.value[i]);
  y.magnitude[i] += x.magnitude[i];
}

template <bool kConjugate, class Element, class Value>
void apply_stored(const Matrix& m, bool transposed, const Vector<Value>& x,
                  Vector<Value>& y) noexcept {
  const bool unit = is_strict(m.triangle);
  for (std::uint64_t j = 0; j < m.cols; ++j) {
    const auto [begin, end] = rows_of(m, j, unit);
    const Element* a = column<Element>(m, j) + begin;
    if (transposed) {
      add_dot<kConjugate>(a, end - begin, x.value.data() + begin, x.magnitude.data() + begin,
                          y.value[j], y.magnitude[j]);
    } else {
      add_column<kConjugate>(a, end - begin, x.value[j], x.magnitude[j], y.value.data() + begin,
                             y.magnitude.data() + begin);
    }
    if (unit && j < m.rows) add_element(y, x, j);
  }
}

inline double without_imaginary(double v) noexcept { return v; }
inline Pair without_imaginary(const Pair& v) noexcept { return {v.re, 0}; }

// Each stored element off the diagonal represents two elements. A Hermitian diagonal is real: the
// stored imaginary parts are ignored.
template <bool kConjugate, bool kHermitian, class Element, class Value>
void apply_mirrored(const Matrix& m, const Vector<Value>& x, Vector<Value>& y) noexcept {
  for (std::uint64_t j = 0; j < m.cols; ++j) {
    const auto [begin, end] = rows_of(m, j, true);
    const Element* a = column<Element>(m, j);
    add_column<kConjugate>(a + begin, end - begin, x.value[j], x.magnitude[j],
                           y.value.data() + begin, y.magnitude.data() + begin);
    add_dot<kConjugate != kHermitian>(a + begin, end - begin, x.value.data() + begin,
                                      x.magnitude.data() + begin, y.value[j], y.magnitude[j]);
    const Value stored = value_of<kConjugate>(a[j]);
    const Value diagonal = kHermitian ? without_imaginary(stored) : stored;
    add_to(y.value[j], product(diagonal, x.value[j]));
    y.magnitude[j] += absolute(diagonal) * x.magnitude[j];
  }
}

template <class Element, class Value>
Vector<Value> apply_matrix(const Matrix& m, char op, const Vector<Value>& x) {
  const bool transposed = m.mirror == Mirror::none && transposes(op);
  Vector<Value> y(transposed ? m.cols : m.rows);
  if (m.mirror == Mirror::hermitian) {  // the transpose is the conjugate
    const bool conjugate = op == 'T' || op == 'R';
    conjugate ? apply_mirrored<true, true, Element>(m, x, y)
              : apply_mirrored<false, true, Element>(m, x, y);
  } else if (m.mirror == Mirror::symmetric) {
    conjugates(op) ? apply_mirrored<true, false, Element>(m, x, y)
                   : apply_mirrored<false, false, Element>(m, x, y);
  } else {
    conjugates(op) ? apply_stored<true, Element>(m, transposed, x, y)
                   : apply_stored<false, Element>(m, transposed, x, y);
  }
  return y;
}

template <class Value>
void exchange(Vector<Value>& x, std::uint64_t i, std::int64_t pivot) noexcept {
  const auto other = static_cast<std::uint64_t>(pivot - 1);
  std::swap(x.value[i], x.value[other]);
  std::swap(x.magnitude[i], x.magnitude[other]);
}

template <class Value>
void apply_exchanges(const Factor& factor, char op, Vector<Value>& x) noexcept {
  const std::uint64_t n = factor.pivot_count;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t at = transposes(op) ? i : n - 1 - i;
    exchange(x, at, factor.pivots[at]);
  }
}

template <bool kConjugate, class Element, class Value>
void add_row(const Matrix& m, bool transposed, std::uint64_t i, const Vector<Value>& x, Value& y,
             double& magnitude) noexcept {
  if (transposed) {
    add_dot<kConjugate>(column<Element>(m, i), m.rows, x.value.data(), x.magnitude.data(), y,
                        magnitude);
    return;
  }
  for (std::uint64_t j = 0; j < m.cols; ++j) {
    const Value v = value_of<kConjugate>(column<Element>(m, j)[i]);
    add_to(y, product(v, x.value[j]));
    magnitude += absolute(v) * x.magnitude[j];
  }
}

// Computes w += op(m)(:, j) * x_j.
template <bool kConjugate, class Element, class Value>
void add_scaled(const Matrix& m, bool transposed, std::uint64_t j, Value x, double x_magnitude,
                Vector<Value>& w) noexcept {
  if (!transposed) {
    add_column<kConjugate>(column<Element>(m, j), m.rows, x, x_magnitude, w.value.data(),
                           w.magnitude.data());
    return;
  }
  for (std::uint64_t i = 0; i < m.cols; ++i) {
    const Value v = value_of<kConjugate>(column<Element>(m, i)[j]);
    add_to(w.value[i], product(v, x));
    w.magnitude[i] += absolute(v) * x_magnitude;
  }
}

// Row i of a lower (upper) triangle of A B has the columns up to (from) i. So the part of x that is
// multiplied by B grows by one column per row.
// @pre op is N or T
template <class Element, class Value>
Vector<Value> apply_triangle(const Factor& factor, char op, const Vector<Value>& x) {
  Matrix left = factor.first;
  Matrix right = factor.second;
  char left_op = factor.op;
  char right_op = factor.second_op;
  bool upper = is_upper(factor.triangle);
  if (transposes(op)) {  // (A B)^T = B^T A^T, with the other triangle
    std::swap(left, right);
    left_op = transposed(factor.second_op);
    right_op = transposed(factor.op);
    upper = !upper;
  }
  const std::uint64_t n = x.value.size();
  Vector<Value> w(transposes(right_op) ? right.cols : right.rows);
  Vector<Value> y(n);
  for (std::uint64_t step = 0; step < n; ++step) {
    const std::uint64_t i = upper ? n - 1 - step : step;
    const bool right_t = transposes(right_op);
    conjugates(right_op)
        ? add_scaled<true, Element>(right, right_t, i, x.value[i], x.magnitude[i], w)
        : add_scaled<false, Element>(right, right_t, i, x.value[i], x.magnitude[i], w);
    const bool left_t = transposes(left_op);
    conjugates(left_op) ? add_row<true, Element>(left, left_t, i, w, y.value[i], y.magnitude[i])
                        : add_row<false, Element>(left, left_t, i, w, y.value[i], y.magnitude[i]);
  }
  return y;
}

}  // namespace

template <class Element>
Vector<ValueOf<Element>> apply(const Factor& factor, char op, Vector<ValueOf<Element>> x) {
  switch (factor.kind) {
    case Factor::Kind::exchanges: apply_exchanges(factor, op, x); return x;
    case Factor::Kind::triangle_of_product: return apply_triangle<Element>(factor, op, x);
    case Factor::Kind::matrix: break;
  }
  return apply_matrix<Element>(factor.first, op, x);
}

template Vector<double> apply<float>(const Factor&, char, Vector<double>);
template Vector<double> apply<double>(const Factor&, char, Vector<double>);
template Vector<Pair> apply<std::complex<float>>(const Factor&, char, Vector<Pair>);
template Vector<Pair> apply<std::complex<double>>(const Factor&, char, Vector<Pair>);

}  // namespace ob::verify::detail
