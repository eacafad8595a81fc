#pragma once
// Matrices for tests: a column-major array with poison around it and between its columns, and dense
// helper functions for reference results.

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "blas.hpp"

namespace workload {

template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, blas::Real<T>>;
template <class T>
using Wide = std::conditional_t<kComplex<T>, std::complex<double>, double>;
template <class T>
inline constexpr double kEps = std::numeric_limits<blas::Real<T>>::epsilon();

template <class T>
T poison() {
  using R = blas::Real<T>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  if constexpr (kComplex<T>) {
    return T(nan, nan);
  } else {
    return nan;
  }
}

template <class T, class Rng>
T random_value(Rng& rng) {
  using R = blas::Real<T>;
  std::uniform_real_distribution<double> uniform(-1, 1);
  if constexpr (kComplex<T>) {
    const R re = static_cast<R>(uniform(rng));
    return T(re, static_cast<R>(uniform(rng)));
  } else {
    return static_cast<R>(uniform(rng));
  }
}

/// A rows x cols array of values, column-major without gaps.
template <class T>
struct Dense {
  int rows = 0;
  int cols = 0;
  std::vector<T> values;
  Dense(int r, int c) : rows(r), cols(c), values(static_cast<std::size_t>(r) * c) {}
  T& operator()(int i, int j) { return values[static_cast<std::size_t>(j) * rows + i]; }
  const T& operator()(int i, int j) const { return values[static_cast<std::size_t>(j) * rows + i]; }
};

template <class T>
Dense<T> product(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> c(a.rows, b.cols);
  for (int j = 0; j < b.cols; ++j)
    for (int l = 0; l < a.cols; ++l)
      for (int i = 0; i < a.rows; ++i) c(i, j) += a(i, l) * b(l, j);
  return c;
}

/// op(A) for t = N, T or C in either case.
template <class T>
Dense<T> transposed(const Dense<T>& a, char t) {
  if (t == 'N' || t == 'n') return a;
  const bool conjugate = t == 'C' || t == 'c';
  Dense<T> b(a.cols, a.rows);
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i) b(j, i) = conjugate ? blas::conj(a(i, j)) : a(i, j);
  return b;
}

template <class T>
Dense<double> magnitude(const Dense<T>& a) {
  Dense<double> b(a.rows, a.cols);
  for (std::size_t i = 0; i < a.values.size(); ++i) b.values[i] = std::abs(a.values[i]);
  return b;
}

using Allowed = std::function<bool(int i, int j)>;
inline bool everywhere(int, int) { return true; }
inline bool nowhere(int, int) { return false; }

/// Returns the elements that uplo = 'U' or 'L' names; with `unit`, without the diagonal.
inline Allowed triangle(char uplo, bool unit = false) {
  const bool upper = uplo == 'U' || uplo == 'u';
  return [upper, unit](int i, int j) { return i == j ? !unit : (i < j) == upper; };
}

/// A matrix in memory that starts as NaN: it has guards before and after, and gap rows below each
/// column.
template <class T>
class Matrix {
 public:
  template <class Rng>
  Matrix(int row_count, int column_count, Rng& rng)
      : rows(row_count),
        cols(column_count),
        ld(std::max(1, row_count) + static_cast<int>(rng() % 5)) {
    store_.assign(kGuard + static_cast<std::size_t>(ld) * cols + kGuard, poison<T>());
  }

  T* data() { return store_.data() + kGuard; }
  T& operator()(int i, int j) { return data()[static_cast<std::size_t>(j) * ld + i]; }
  const T& operator()(int i, int j) const {
    return store_[kGuard + static_cast<std::size_t>(j) * ld + i];
  }

  /// Writes random values where `allowed`; the rest stays poison.
  template <class Rng>
  void fill(Rng& rng, const Allowed& allowed = everywhere) {
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i)
        if (allowed(i, j)) (*this)(i, j) = random_value<T>(rng);
  }

  Dense<Wide<T>> dense(const Allowed& allowed = everywhere) const {
    Dense<Wide<T>> result(rows, cols);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i)
        if (allowed(i, j)) result(i, j) = Wide<T>((*this)(i, j));
    return result;
  }

  /// Returns an empty text if every byte equals that in `before`, except where `allowed`.
  std::string changes(const Matrix& before, const Allowed& allowed) const {
    for (std::size_t at = 0; at < store_.size(); ++at) {
      if (std::memcmp(&store_[at], &before.store_[at], sizeof(T)) == 0) continue;
      const auto place = static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(kGuard);
      const auto row = place % ld, column = place / ld;
      const bool inside = place >= 0 && column < cols && row < rows;
      if (inside && allowed(static_cast<int>(row), static_cast<int>(column))) continue;
      return "changed memory it does not own at row " + std::to_string(row) + ", column " +
             std::to_string(column) + " of " + std::to_string(rows) + " x " + std::to_string(cols) +
             ", ld " + std::to_string(ld);
    }
    return "";
  }

  int rows;
  int cols;
  int ld;

 private:
  static constexpr std::size_t kGuard = 32;
  std::vector<T> store_;
};

}  // namespace workload
