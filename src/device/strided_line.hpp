#pragma once
// Real numbers of one precision at equal distances, read and written as double.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/unit_roots.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Memory: does not own; need not be aligned   Units: stride in bytes
template <class Real>
struct StridedLine {
  std::byte* data;
  std::int64_t stride;

  std::byte* at(std::uint64_t i) const noexcept {
    return data + static_cast<std::int64_t>(i) * stride;
  }
  Complex complex(std::uint64_t i) const noexcept {
    Real parts[2];
    std::memcpy(parts, at(i), sizeof parts);
    return {parts[0], parts[1]};
  }
  void set(std::uint64_t i, Complex value) const noexcept {
    const Real parts[2] = {static_cast<Real>(value.re), static_cast<Real>(value.im)};
    std::memcpy(at(i), parts, sizeof parts);
  }
  double real(std::uint64_t i) const noexcept {
    Real value;
    std::memcpy(&value, at(i), sizeof value);
    return value;
  }
  void set_real(std::uint64_t i, double value) const noexcept {
    const auto narrow = static_cast<Real>(value);
    std::memcpy(at(i), &narrow, sizeof narrow);
  }
};

/// Calls visit(Real{}) with the plan's type of real numbers.
template <class Visit>
auto with_real(const FftPlan& plan, const Visit& visit) {
  const bool single = plan.precision == Precision::c || plan.precision == Precision::s;
  return single ? visit(float{}) : visit(double{});
}

}  // namespace ob
