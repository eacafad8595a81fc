#include "conformance/device/algebra.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ob::test {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

Real not_nan(Real value) { return std::isnan(value) ? kInfinity : value; }

}  // namespace

Real unit_roundoff(Precision precision) { return epsilon(precision) / 2; }

Real norm_one(const Dense& a) {
  Real largest = 0;
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    Real sum = 0;
    for (std::uint64_t i = 0; i < a.rows; ++i) sum += std::abs(a(i, j));
    largest = std::max(largest, not_nan(sum));
  }
  return largest;
}

Real norm_infinity(const Dense& a) { return norm_one(op('T', a)); }

Real norm_max(const Dense& a) {
  Real largest = 0;
  for (const Wide x : a.elements) largest = std::max(largest, not_nan(std::abs(x)));
  return largest;
}

Real norm_frobenius(const Dense& a) {
  Real sum = 0;
  for (const Wide x : a.elements) sum += std::norm(x);
  return not_nan(std::sqrt(sum));
}

Real ratio(Real error, Real scale, Precision precision) {
  if (error == 0) return 0;
  return not_nan(error / (scale * unit_roundoff(precision)));
}

Real ratio(const Dense& error, Real scale, Precision precision) {
  return ratio(norm_one(error), scale, precision);
}

Real unitarity(const Dense& q, Precision precision) {
  return ratio(op('C', q) * q - identity(q.cols), static_cast<Real>(std::max(q.rows, q.cols)),
               precision);
}

Dense block(const Dense& a, std::uint64_t row, std::uint64_t col, std::uint64_t rows,
            std::uint64_t cols) {
  Dense b(rows, cols);
  for (std::uint64_t j = 0; j < cols; ++j) {
    for (std::uint64_t i = 0; i < rows; ++i) b(i, j) = a(row + i, col + j);
  }
  return b;
}

Dense columns(const Dense& a, std::uint64_t first, std::uint64_t count) {
  return block(a, 0, first, a.rows, count);
}

Dense diagonal(const Reals& values, std::uint64_t rows, std::uint64_t cols) {
  Dense d(rows, cols);
  for (std::uint64_t i = 0; i < values.size(); ++i) d(i, i) = values[i];
  return d;
}

Dense diagonal(const Reals& values) { return diagonal(values, values.size(), values.size()); }

Dense column(const Reals& values) {
  Dense c(values.size(), 1);
  std::copy(values.begin(), values.end(), c.elements.begin());
  return c;
}

Dense part(Triangle triangle, const Dense& a) {
  Dense b(a.rows, a.cols);
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i < a.rows; ++i) {
      if (in_triangle(triangle, i, j)) b(i, j) = a(i, j);
    }
  }
  return b;
}

Triangle triangle_of(char uplo) { return uplo == 'U' ? Triangle::upper : Triangle::lower; }

Dense solve(Dense a, Dense b) {
  const std::uint64_t n = a.rows;
  for (std::uint64_t k = 0; k < n; ++k) {
    std::uint64_t pivot = k;
    for (std::uint64_t i = k; i < n; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    }
    swap_rows(a, k, pivot);
    swap_rows(b, k, pivot);
    for (std::uint64_t i = 0; i < n; ++i) {
      const Wide factor = i == k ? 0 : a(i, k) / a(k, k);
      if (factor == Wide(0)) continue;
      for (std::uint64_t j = k; j < n; ++j) a(i, j) -= factor * a(k, j);
      for (std::uint64_t j = 0; j < b.cols; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  for (std::uint64_t j = 0; j < b.cols; ++j) {
    for (std::uint64_t i = 0; i < n; ++i) b(i, j) /= a(i, i);
  }
  return b;
}

Dense inverse(const Dense& a) { return solve(a, identity(a.rows)); }

void reflect(Dense& c, const Dense& v, Wide tau) { c = c - (tau * v) * (op('C', v) * c); }

Dense product_of_reflectors(const Dense& vectors, const Dense& tau) {
  Dense q = identity(vectors.rows);
  for (std::uint64_t i = vectors.cols; i-- > 0;) reflect(q, columns(vectors, i, 1), tau(i, 0));
  return q;
}

Dense unit_lower(const Dense& a, std::uint64_t count) {
  Dense v = part(Triangle::lower_strict, columns(a, 0, count));
  for (std::uint64_t i = 0; i < std::min(count, a.rows); ++i) v(i, i) = 1;
  return v;
}

bool is_permutation(const Integers& indices) {
  Integers sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i) + 1) return false;
  }
  return true;
}

void swap_rows(Dense& a, std::uint64_t i, std::uint64_t k) {
  for (std::uint64_t j = 0; j < a.cols; ++j) std::swap(a(i, j), a(k, j));
}

void swap_columns(Dense& a, std::uint64_t i, std::uint64_t k) {
  for (std::uint64_t j = 0; j < a.rows; ++j) std::swap(a(j, i), a(j, k));
}

Dense random_unitary(RoutineTest& test, Precision precision, std::uint64_t n) {
  constexpr std::uint64_t kEnough = 12;  // enough reflectors to mix all elements
  const std::uint64_t k = std::min(n, kEnough);
  const Reflectors reflectors = random_reflectors(test, precision, n, k);
  return product_of_reflectors(unit_lower(reflectors.a, k), reflectors.tau);
}

// H = I - tau v v^H is unitary if 2 Re(tau) = |tau|^2 |v|^2: tau = (1 + e^(i phi)) / |v|^2.
Reflectors random_reflectors(RoutineTest& test, Precision precision, std::uint64_t m,
                             std::uint64_t k) {
  Reflectors made{test.random_matrix(precision, m, k), Dense(k, 1)};
  const Dense v = unit_lower(made.a, k);
  for (std::uint64_t i = 0; i < k; ++i) {
    const Real square = std::pow(norm_frobenius(columns(v, i, 1)), 2);
    const Real phi = is_complex(precision) ? test.uniform(-3, 3) : 0;
    made.tau(i, 0) = rounded(precision, (Wide(1) + std::polar<Real>(1, phi)) / square);
  }
  return made;
}

Dense random_hermitian(RoutineTest& test, Precision precision, const Reals& values) {
  const Dense q = random_unitary(test, precision, values.size());
  return rounded(precision, hermitian('U', q * diagonal(values) * op('C', q)));
}

Dense random_positive(RoutineTest& test, Precision precision, std::uint64_t n) {
  Reals values(n);
  for (Real& x : values) x = test.uniform(0.5, 4);
  return random_hermitian(test, precision, values);
}

Reals random_spectrum(RoutineTest& test, std::uint64_t n, int kind) {
  Reals values(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    switch (kind) {
      case 0: values[i] = test.uniform(-1, 1); break;
      case 1: values[i] = static_cast<Real>(test.random(0, 2)) - 1; break;
      case 2: values[i] = std::pow(Real{2}, -static_cast<Real>(i)); break;
      default: values[i] = 0;
    }
  }
  return values;
}

Dense random_triangle(RoutineTest& test, char uplo, Precision precision, std::uint64_t n) {
  Dense f = triangular(uplo, 'N', test.random_matrix(precision, n, n));
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = 0; i < n; ++i) {
      f(i, j) = i == j ? Wide(1.5L + f(i, j).real() / 2) : f(i, j) / static_cast<Real>(n);
    }
  }
  return rounded(precision, f);
}

}  // namespace ob::test
