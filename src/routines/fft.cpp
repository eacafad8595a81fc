#include "routines/fft.hpp"

#include <bit>
#include <limits>

namespace ob {
namespace {

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

// Returns log2 of x >= 1 to about 1e-10. The drop-in library must not depend on libm.
double log2_of(double x) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> 52U) - 1023;
  const auto m =
      std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);  // in [1, 2)
  // ln m = 2 artanh(s), |s| <= 1/3
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int power = 19; power >= 1; power -= 2) sum = sum * s * s + 1.0 / power;
  constexpr double kLn2 = 0.69314718055994530942;
  return exponent + 2 * s * sum / kLn2;
}

// Returns the elements of a half spectrum: the last dimension has n/2 + 1 (FFTW 3.3 manual, section
// 4.8.4).
std::uint64_t half_points(const FftPlan& plan) noexcept {
  if (points(plan) == 0) return 0;
  std::uint64_t count = 1;
  for (int d = 0; d < plan.rank; ++d) {
    const std::uint64_t n = plan.n[static_cast<std::size_t>(d)];
    count = saturating_multiply(count, d + 1 == plan.rank ? n / 2 + 1 : n);
  }
  return count;
}

std::uint64_t bytes(const FftPlan& plan, bool real_side) noexcept {
  const std::uint64_t complex_bytes = plan.precision == Precision::c ? 8 : 16;
  const bool half = (plan.kind == FftKind::r2c || plan.kind == FftKind::c2r) && !real_side;
  const std::uint64_t element = real_side ? complex_bytes / 2 : complex_bytes;
  const std::uint64_t count = half ? half_points(plan) : points(plan);
  return saturating_multiply(saturating_multiply(count, plan.batch), element);
}

}  // namespace

std::uint64_t points(const FftPlan& plan) noexcept {
  std::uint64_t count = 1;
  for (int d = 0; d < plan.rank; ++d)
    count = saturating_multiply(count, plan.n[static_cast<std::size_t>(d)]);
  return count;
}

std::uint64_t input_bytes(const FftPlan& plan) noexcept {
  return bytes(plan, plan.kind == FftKind::r2c || plan.kind == FftKind::r2r);
}

std::uint64_t output_bytes(const FftPlan& plan) noexcept {
  return bytes(plan, plan.kind == FftKind::c2r || plan.kind == FftKind::r2r);
}

double flops(const FftPlan& plan) noexcept {
  const auto n = static_cast<double>(points(plan));
  if (n <= 1) return 0;
  const double each = 5 * n * log2_of(n) * (plan.kind == FftKind::c2c ? 1 : 0.5);
  return each * static_cast<double>(plan.batch);
}

}  // namespace ob
