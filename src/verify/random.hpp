#pragma once
// Random numbers for checks. They are cheap, and the checked device does not know them.

#include <cstdint>

#include "base/mixed.hpp"

namespace ob::verify {

/// A random number generator with a separate sequence for each seed.
/// Source: Steele, Lea, Flood 2014 (SplitMix64)
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    const std::uint64_t number = mixed(state_);
    state_ += kMixStep;
    return number;
  }

  /// Returns a number in [-1, -1/2] or [1/2, 1]. It is away from 0, so that a product with it hides
  /// no error.
  double away_from_zero() noexcept {
    const std::uint64_t bits = next();
    const double half = static_cast<double>(bits >> 12U) * 0x1p-53;  // in [0, 1/2)
    return (bits & 1U) != 0 ? 0.5 + half : -0.5 - half;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ob::verify
