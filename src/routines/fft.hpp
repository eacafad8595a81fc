#pragma once
// FFT plans of devices: packed data, first dimension slowest, transforms one after another.

#include <array>
#include <cstdint>

#include "routines/descriptor.hpp"

namespace ob {

enum class FftKind : std::uint8_t { c2c = 0, r2c = 1, c2r = 2, r2r = 3 };
inline constexpr std::size_t kFftKinds = 4;

/// One-dimensional transforms of real data: half-complex, Hartley, cosine and sine transforms. The
/// numbers are those of fftw3.h.
/// Source: FFTW 3.3 manual, sections 2.5 and 4.8.2 to 4.8.5
enum class RealTransform : std::uint8_t {
  r2hc = 0,
  hc2r = 1,
  dht = 2,
  redft00 = 3,
  redft01 = 4,
  redft10 = 5,
  redft11 = 6,
  rodft00 = 7,
  rodft01 = 8,
  rodft10 = 9,
  rodft11 = 10,
};

/// An unnormalised DFT with FFTW's definition and sign.
/// Shapes: n[0] x ... x n[rank-1] (row-major), batch of them, packed
/// Source: FFTW 3.3 manual, section 4.8
struct FftPlan {
  static constexpr int kMaxRank = 7;
  FftKind kind = FftKind::c2c;
  Precision precision = Precision::z;  ///< c: single, z: double
  std::int8_t sign = -1;               ///< -1 forward, +1 backward
  bool in_place = true;                ///< input and output offsets of execute are equal
  std::uint8_t rank = 0;               ///< 0: a copy
  std::array<std::uint64_t, kMaxRank> n{};
  std::uint64_t batch = 1;
  std::array<RealTransform, kMaxRank> real{};  ///< r2r: the kind of each dimension

  friend bool operator==(const FftPlan&, const FftPlan&) = default;
};

/// Returns the elements of one transform: the product of n. Saturates.
std::uint64_t points(const FftPlan& plan) noexcept;
/// Returns the bytes of all packed input. Saturates.
std::uint64_t input_bytes(const FftPlan& plan) noexcept;
/// Returns the bytes of all packed output. Saturates.
std::uint64_t output_bytes(const FftPlan& plan) noexcept;
/// Returns 5 N log2 N for each complex transform, and half of it for each real one.
/// Source: FFTW's benchFFT convention
double flops(const FftPlan& plan) noexcept;

}  // namespace ob
