#include "device/unit_roots.hpp"

namespace ob {
namespace {

struct Angle {
  long double cosine = 1;
  long double sine = 0;
};

// Taylor series for 0 <= x <= pi/4, 21 terms: the first omitted term is below 1e-23. The drop-in
// library must not depend on libm.
Angle angle(long double x) noexcept {
  Angle sum{1, 0};
  long double term = 1;
  for (int i = 1; i <= 21; ++i) {
    term *= x / i;
    const bool negative = i % 4 >= 2;
    (i % 2 == 0 ? sum.cosine : sum.sine) += negative ? -term : term;
  }
  return sum;
}

}  // namespace

Complex unit_root(std::uint64_t k, std::uint64_t n) noexcept {
  OB_EXPECT(k < n && n <= kMaxRootOrder);
  constexpr long double kQuarterPi = 0.785398163397448309615660845819875721L;
  const std::uint64_t eighths = 8 * k;
  const std::uint64_t octant = eighths / n;
  const std::uint64_t rest = eighths % n;
  // odd octants are measured from their end
  const std::uint64_t part = octant % 2 == 0 ? rest : n - rest;
  const Angle a = angle(kQuarterPi * static_cast<long double>(part) / static_cast<long double>(n));
  const auto c = static_cast<double>(a.cosine);
  const auto s = static_cast<double>(a.sine);
  switch (octant) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

UnitRoots::UnitRoots(std::uint64_t n, int sign) : n_(n) {
  OB_EXPECT(n > 0 && n <= kMaxRootOrder && (sign == 1 || sign == -1));
  while (bits_ < 30 && (std::uint64_t{1} << (2 * bits_)) < n) ++bits_;
  const std::uint64_t fine = std::uint64_t{1} << bits_;
  mask_ = fine - 1;
  const auto root = [&](std::uint64_t k) {
    const Complex value = unit_root(k % n, n);
    return sign < 0 ? conjugate(value) : value;
  };
  for (std::uint64_t k = 0; k < fine; ++k) fine_.push_back(root(k));
  for (std::uint64_t k = 0; k < n; k += fine) coarse_.push_back(root(k));
}

}  // namespace ob
