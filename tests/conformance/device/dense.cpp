#include "conformance/device/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ob::test {
namespace {

template <class T>
T load_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

long double epsilon(Precision precision) {
  const bool single = precision == Precision::s || precision == Precision::c;
  return single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

bool is_complex(Precision precision) {
  return precision == Precision::c || precision == Precision::z;
}

Precision real_precision(Precision precision) {
  const bool single = precision == Precision::s || precision == Precision::c;
  return single ? Precision::s : Precision::d;
}

Wide load(Precision precision, const std::byte* at) {
  switch (precision) {
    case Precision::s: return load_as<float>(at);
    case Precision::d: return load_as<double>(at);
    case Precision::c: return {load_as<float>(at), load_as<float>(at + 4)};
    case Precision::z: return {load_as<double>(at), load_as<double>(at + 8)};
  }
  return {};
}

void store(Precision precision, std::byte* at, Wide value) {
  switch (precision) {
    case Precision::s: store_as(at, static_cast<float>(value.real())); break;
    case Precision::d: store_as(at, static_cast<double>(value.real())); break;
    case Precision::c:
      store_as(at, static_cast<float>(value.real()));
      store_as(at + 4, static_cast<float>(value.imag()));
      break;
    case Precision::z:
      store_as(at, static_cast<double>(value.real()));
      store_as(at + 8, static_cast<double>(value.imag()));
      break;
  }
}

Dense operator*(const Dense& a, const Dense& b) {
  Dense c(a.rows, b.cols);
  for (std::uint64_t j = 0; j < b.cols; ++j) {
    for (std::uint64_t l = 0; l < a.cols; ++l) {
      const Wide factor = b(l, j);
      if (factor == Wide(0)) continue;  // also keeps structural zeros apart from NaN
      for (std::uint64_t i = 0; i < a.rows; ++i) {
        const Wide x = a(i, l);
        c(i, j) += Wide(x.real() * factor.real() - x.imag() * factor.imag(),
                        x.real() * factor.imag() + x.imag() * factor.real());
      }
    }
  }
  return c;
}

Dense operator*(Wide alpha, const Dense& a) {
  Dense c = a;
  for (Wide& x : c.elements) x *= alpha;
  return c;
}

Dense operator+(const Dense& a, const Dense& b) {
  Dense c = a;
  for (std::size_t i = 0; i < c.elements.size(); ++i) c.elements[i] += b.elements[i];
  return c;
}

Dense operator-(const Dense& a, const Dense& b) { return a + Wide(-1) * b; }

Dense abs(const Dense& a) {
  Dense c = a;
  for (Wide& x : c.elements) x = std::abs(x);
  return c;
}

Dense op(char trans, const Dense& a) {
  if (trans == 'N') return a;
  Dense c(a.cols, a.rows);
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i < a.rows; ++i)
      c(j, i) = trans == 'C' ? std::conj(a(i, j)) : a(i, j);
  }
  return c;
}

Dense identity(std::uint64_t n) {
  Dense c(n, n);
  for (std::uint64_t i = 0; i < n; ++i) c(i, i) = 1;
  return c;
}

Wide rounded(Precision precision, Wide value) {
  std::byte memory[16];
  store(precision, memory, is_complex(precision) ? value : Wide(value.real()));
  return load(precision, memory);
}

Dense rounded(Precision precision, Dense a) {
  for (Wide& x : a.elements) x = rounded(precision, x);
  return a;
}

Dense symmetric(char uplo, const Dense& a) {
  Dense c(a.rows, a.cols);
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i < a.rows; ++i) {
      c(i, j) = (uplo == 'U') == (i <= j) || i == j ? a(i, j) : a(j, i);
    }
  }
  return c;
}

Dense hermitian(char uplo, const Dense& a) {
  Dense c(a.rows, a.cols);
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i < a.rows; ++i) {
      if (i == j) {
        c(i, j) = a(i, j).real();
      } else {
        c(i, j) = (uplo == 'U') == (i < j) ? a(i, j) : std::conj(a(j, i));
      }
    }
  }
  return c;
}

Dense triangular(char uplo, char diag, const Dense& a) {
  Dense c(a.rows, a.cols);
  for (std::uint64_t j = 0; j < a.cols; ++j) {
    for (std::uint64_t i = 0; i < a.rows; ++i) {
      if (i == j) {
        c(i, j) = diag == 'U' ? Wide(1) : a(i, j);
      } else if ((uplo == 'U') == (i < j)) {
        c(i, j) = a(i, j);
      }
    }
  }
  return c;
}

long double worst_ratio(const Dense& error, const Dense& bound, Triangle triangle) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  long double worst = 0;
  for (std::uint64_t j = 0; j < error.cols; ++j) {
    for (std::uint64_t i = 0; i < error.rows; ++i) {
      if (!in_triangle(triangle, i, j)) continue;
      const long double size = std::abs(error(i, j));
      if (size == 0) continue;
      const long double ratio = size / bound(i, j).real();
      worst = std::max(worst, std::isnan(ratio) ? kInfinity : ratio);
    }
  }
  return worst;
}

bool in_triangle(Triangle triangle, std::uint64_t row, std::uint64_t column) {
  switch (triangle) {
    case Triangle::full: return true;
    case Triangle::upper: return row <= column;
    case Triangle::lower: return row >= column;
    case Triangle::upper_strict: return row < column;
    case Triangle::lower_strict: return row > column;
  }
  return false;
}

}  // namespace ob::test
