#pragma once
// Real-to-real transforms for libraries without them: a real or complex transform between two
// kernels computes each.

#include <cstddef>
#include <cstdint>

#include "device/strided_line.hpp"
#include "device/unit_roots.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Longest line of a real-to-real transform: its roots have orders up to 16 n.
inline constexpr std::uint64_t kMaxPoints = kMaxRootOrder / 16;

/// Returns the transform (out of place, rank 1) that a real-to-real transform of kind `real` and n
/// points uses:
///   r2c of n         R2HC, DHT, REDFT10, RODFT10; REDFT11 and RODFT11 of odd n
///   c2r of n         HC2R, REDFT01, RODFT01
///   c2c of n/2       REDFT11 and RODFT11 of even n
///   r2c of 2(n - 1)  REDFT00
///   r2c of 2(n + 1)  RODFT00
/// Half the length would do for the last two, but the error would grow by up to sqrt(n) (FFTW 3.3
/// manual, section 4.8.3).
/// @pre n >= (real == RealTransform::redft00 ? 2 : 1) && n <= kMaxPoints
/// @pre precision == Precision::c || precision == Precision::z
FftPlan embedding(RealTransform real, std::uint64_t n, Precision precision,
                  std::uint64_t batch = 1) noexcept;

/// The kernels before and after the embedding transform, for lines of one kind and length. They use
/// FFTW's definitions and scaling.
/// Memory:  tables of O(sqrt(n)) roots   Threads: any
class RealFolds {
 public:
  /// @pre n >= (real == RealTransform::redft00 ? 2 : 1) && n <= kMaxPoints
  RealFolds(RealTransform real, std::uint64_t n);

  /// Computes the embedding's packed input from the n numbers of a line.
  template <class Real>
  void fold_in(const StridedLine<Real>& line, std::byte* input) const noexcept;
  /// Computes the n numbers of the result from the embedding's packed output.
  template <class Real>
  void fold_out(const std::byte* output, const StridedLine<Real>& line) const noexcept;

 private:
  RealTransform real_;
  std::uint64_t n_;
  FftPlan through_;
  UnitRoots roots_;
};

}  // namespace ob
