#pragma once
// An FFT as devices see it: packed data, first dimension slowest, transforms one after another.

#include <array>
#include <cstdint>

#include "routines/descriptor.hpp"

namespace ob {

enum class FftKind : std::uint8_t { c2c = 0, r2c = 1, c2r = 2 };

/// Unnormalised DFT, FFTW's definition and sign.
/// Shapes: n[0] x ... x n[rank-1] (row-major), batch of them, packed   Source: FFTW 3.3 manual,
/// section 4.8
struct FftPlan {
  static constexpr int kMaxRank = 7;
  FftKind kind = FftKind::c2c;
  Precision precision = Precision::z;  ///< c: single, z: double
  std::int8_t sign = -1;               ///< -1 forward, +1 backward
  bool in_place = true;                ///< input and output offsets of execute are equal
  std::uint8_t rank = 0;               ///< 0: a copy
  std::array<std::uint64_t, kMaxRank> n{};
  std::uint64_t batch = 1;

  friend bool operator==(const FftPlan&, const FftPlan&) = default;
};

/// Elements of one transform: product of n. Saturates.
std::uint64_t points(const FftPlan& plan) noexcept;
/// Bytes of all packed input. Saturates.
std::uint64_t input_bytes(const FftPlan& plan) noexcept;
/// Bytes of all packed output. Saturates.
std::uint64_t output_bytes(const FftPlan& plan) noexcept;
/// 5 N log2 N per complex transform, half of it for real ones.   Source: FFTW's benchFFT convention
double flops(const FftPlan& plan) noexcept;

}  // namespace ob
