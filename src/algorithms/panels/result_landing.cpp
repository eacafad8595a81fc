#include "algorithms/panels/result_landing.hpp"

#include <algorithm>
#include <complex>
#include <string>

namespace ob::algorithms {
namespace {

bool is_lower(Triangle triangle) { return triangle == Triangle::lower; }

// Computes home := beta home + result in the triangle of `home`. A real beta multiplies the real
// and imaginary parts separately. A complex beta with imaginary part 0 turns infinite parts into
// NaN.
template <class T, class Scale>
void add_scaled(std::byte* data, const Region& home, const std::byte* result, Scale beta) {
  const T* from = reinterpret_cast<const T*>(result);
  T* to = reinterpret_cast<T*>(data);
  for (std::uint64_t j = 0; j < home.cols; ++j, from += home.rows, to += home.ld) {
    const std::uint64_t first = is_lower(home.triangle) ? j : 0;
    const std::uint64_t end = home.triangle == Triangle::upper ? j + 1 : home.rows;
    for (std::uint64_t i = first; i < end; ++i) to[i] = beta * to[i] + from[i];
  }
}

template <class T>
void make_diagonal_real(std::byte* data, const Region& home) {
  T* at = reinterpret_cast<T*>(data);
  for (std::uint64_t j = 0; j < home.cols; ++j, at += home.ld) at[j] = at[j].real();
}

template <class R>
void add_complex(std::byte* data, const Region& home, const std::byte* result, Complex beta,
                 bool hermitian) {
  using T = std::complex<R>;
  const R real = static_cast<R>(beta.re);
  if (beta.im == 0) {
    add_scaled<T>(data, home, result, real);
  } else {
    add_scaled<T>(data, home, result, T(real, static_cast<R>(beta.im)));
  }
  if (hermitian) make_diagonal_real<T>(data, home);
}

}  // namespace

Status ResultLanding::wait() {
  const std::uint64_t size_bytes = extent_bytes(dense({0, 0, home_.rows, home_.cols}));
  scratch_.emplace(size_bytes);
  if (scratch_->data() != nullptr) return {};
  return {Code::out_of_memory,
          "no memory for " + std::to_string(size_bytes) + " bytes of results on this side"};
}

Region ResultLanding::dense(const Block& part, Triangle triangle) const {
  Region region = home_;
  region.offset_bytes = (part.col * home_.rows + part.row) * home_.element_bytes;
  region.triangle = triangle;
  region.rows = part.rows;
  region.cols = part.cols;
  region.ld = std::max<std::uint64_t>(1, home_.rows);
  return region;
}

Layout ResultLanding::landing(const Block& part, Triangle triangle) const {
  Region region = dense(part, triangle);
  if (scratch_) return Layout::matrix(scratch_->data(), region);
  region.offset_bytes = (part.col * home_.ld + part.row) * home_.element_bytes;
  region.ld = part.cols > 1 ? home_.ld : std::max<std::uint64_t>(1, part.rows);
  return Layout::matrix(data_, region);
}

void ResultLanding::replace() {
  if (!scratch_) return;
  const Block all{0, 0, home_.rows, home_.cols};
  copy(Layout::matrix(data_, home_), landing(all, home_.triangle));
}

void ResultLanding::add(Precision precision, Complex beta, bool hermitian) {
  const std::byte* const result = scratch_->data();
  switch (precision) {
    case Precision::s: add_scaled<float>(data_, home_, result, static_cast<float>(beta.re)); break;
    case Precision::d: add_scaled<double>(data_, home_, result, beta.re); break;
    case Precision::c: add_complex<float>(data_, home_, result, beta, hermitian); break;
    case Precision::z: add_complex<double>(data_, home_, result, beta, hermitian); break;
  }
}

}  // namespace ob::algorithms
