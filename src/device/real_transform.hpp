#pragma once
// Real-to-real transforms for libraries that have none: real or complex transforms between two
// kernels.

#include <cstddef>
#include <cstdint>

#include "device/strided_line.hpp"
#include "device/unit_roots.hpp"
#include "routines/fft.hpp"

namespace ob {

/// The transform that does the work of real-to-real ones of `real` and n points; out of place, rank
/// 1. r2c of n: R2HC, DHT, REDFT10, RODFT10, and REDFT11 and RODFT11 of odd n; c2r of n: HC2R,
/// REDFT01, RODFT01; c2c of n/2: REDFT11, RODFT11 of even n; r2c of 2(n - 1): REDFT00, of 2(n + 1):
/// RODFT00. The last two could do with half as much, but lose up to sqrt(n) digits' worth of
/// accuracy then (FFTW 3.3 manual, section 4.8.3).
/// @pre n >= 1 (REDFT00: 2) && n <= 2^56; precision c or z
FftPlan embedding(RealTransform real, std::uint64_t n, Precision precision,
                  std::uint64_t batch = 1) noexcept;

/// The kernels before and after the embedding transform, for lines of one kind and length. FFTW's
/// definitions and scaling.
/// Memory:  tables of O(sqrt(n)) roots   Threads: any
class RealFolds {
 public:
  /// @pre n as for embedding()
  RealFolds(RealTransform real, std::uint64_t n);

  /// The embedding's packed input, from the n numbers of a line.
  template <class Real>
  void fold_in(const StridedLine<Real>& line, std::byte* input) const noexcept;
  /// The n numbers of the transform, from the embedding's packed output.
  template <class Real>
  void fold_out(const std::byte* output, const StridedLine<Real>& line) const noexcept;

 private:
  RealTransform real_;
  std::uint64_t n_;
  FftPlan through_;
  UnitRoots roots_;
};

}  // namespace ob
