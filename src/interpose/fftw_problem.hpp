#pragma once
// The problem of an FFTW planner call in FFTW's guru form, to which the call of every maker is
// converted.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "interpose/fftw_arrays.hpp"

namespace ob::interpose {

/// The values of FFTW's planner flags in its ABI.   Source: FFTW 3.3 manual, section 4.3.2
inline constexpr unsigned kFftwDestroyInput = 1U << 0;
inline constexpr unsigned kFftwUnaligned = 1U << 1;
inline constexpr unsigned kFftwConserveMemory = 1U << 2;
inline constexpr unsigned kFftwExhaustive = 1U << 3;
inline constexpr unsigned kFftwPreserveInput = 1U << 4;
inline constexpr unsigned kFftwPatient = 1U << 5;
inline constexpr unsigned kFftwEstimate = 1U << 6;
inline constexpr unsigned kFftwWisdomOnly = 1U << 21;

/// fftw_iodim (Integer = int) and fftw_iodim64 (Integer = ptrdiff_t).
template <class Integer>
struct FftwIodim {
  Integer n;
  Integer is;
  Integer os;
};

/// One dimension: the length of the logical transform, and the strides in elements of the array to
/// which they belong.
struct FftwDimension {
  std::int64_t n = 0;
  std::int64_t input_stride = 0;
  std::int64_t output_stride = 0;

  friend bool operator==(const FftwDimension&, const FftwDimension&) = default;
};

/// The arguments that every maker has in some form.
struct FftwCall {
  FftKind kind = FftKind::c2c;
  Precision precision = Precision::z;  ///< c: fftwf_, z: fftw_
  int sign = -1;                       ///< makers without one: +1 for c2r, -1 for the others
  unsigned flags = 0;
  FftwArrays arrays;
  bool split = false;  ///< complex data are two arrays of reals; strides then count reals
};

/// A planner call in normal form. It is validated only as far as filling it requires.
/// Memory: holds the caller's array addresses, owns nothing.
struct FftwProblem {
  static constexpr int kMaxRank = Layout::kMaxDimensions;

  FftwCall call;
  bool representable = false;  ///< false: ranks outside 0..kMaxRank, or products that overflow
  int rank = 0;
  int howmany_rank = 0;
  std::array<FftwDimension, kMaxRank> dims{};     ///< dimensions of the transform, first slowest
  std::array<FftwDimension, kMaxRank> howmany{};  ///< dimensions of the batch
  std::array<RealTransform, kMaxRank> real{};     ///< r2r: of each dimension of the transform
};

/// Converts a call of the basic interface: one row-major transform of `rank` dimensions. In-place
/// real transforms are padded.
FftwProblem basic_problem(const FftwCall& call, int rank, const int* n) noexcept;

/// The place of one array in memory. If embed is nullptr, n is used, padded for in-place real
/// transforms.
/// Units: elements
struct FftwEmbedding {
  const int* embed;
  int stride;
  int dist;
};

/// Converts a call of the advanced interface.   Source: FFTW 3.3 manual, section 4.4.1
FftwProblem many_problem(const FftwCall& call, int rank, const int* n, int howmany,
                         const FftwEmbedding& in, const FftwEmbedding& out) noexcept;

/// Converts a call of the guru or 64-bit guru interface.
template <class Integer>
FftwProblem guru_problem(const FftwCall& call, int rank, const FftwIodim<Integer>* dims,
                         int howmany_rank, const FftwIodim<Integer>* howmany) noexcept;
extern template FftwProblem guru_problem(const FftwCall&, int, const FftwIodim<int>*, int,
                                         const FftwIodim<int>*) noexcept;
extern template FftwProblem guru_problem(const FftwCall&, int, const FftwIodim<std::ptrdiff_t>*,
                                         int, const FftwIodim<std::ptrdiff_t>*) noexcept;

/// Adds the kinds of a real-to-real problem, one for each dimension of the transform, with FFTW's
/// numbers. The problem is not representable if one kind is unknown.
FftwProblem with_kinds(FftwProblem problem, const int* kinds) noexcept;

/// Converts to the packed problem and the places of its data. Empty if only the native library may
/// run it: signs other than -1 and +1, lengths or counts below 1, no dimension longer than 1, more
/// dimensions than a Layout has, strides that overflow or make results overlap. Dimensions of
/// length 1 are left out unless they scale (DCT and DST) or are the last one of r2c and c2r.
/// Memory: FftPlan::in_place says that the call's two arrays are one
std::optional<FftwOffload> to_offload(const FftwProblem& problem) noexcept;

}  // namespace ob::interpose
