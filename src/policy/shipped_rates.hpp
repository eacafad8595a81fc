#pragma once
// The rates of local libraries, known before a single call was timed: by routine, by size of
// the work, and for any clock and width of vectors. Source: the measurements in docs/decision.md.

#include <cstdint>
#include <string_view>

namespace ob::policy {

/// Libraries with the same kernels still differ in how their routines use them.
enum class LibraryKind : std::uint8_t {
  unknown,
  tuned,             ///< BLAS with kernels for the processor, and LAPACK over it: OpenBLAS, oneMKL
  reference_lapack,  ///< the reference LAPACK over a tuned BLAS
  reference,         ///< the reference BLAS, and the reference LAPACK over it
  fftw,
};

/// The library that computes locally.
struct LocalLibrary {
  LibraryKind kind = LibraryKind::unknown;
  double clock_hz = 0;
  /// Peak of one core in double precision with the kernels in use.
  double flop_per_cycle = 0;
  unsigned threads = 1;
};

/// Returns the expected rate of a warm call. It never exceeds the peak of all threads. 0 if the
/// clock or the peak is unknown, or flop is not above 0.
/// Units: flop/s; flop as the routine's row counts them, or flops() of a plan
/// @param routine its name in the report: "dgemm", "fftw c2c". An unknown routine counts as slow.
/// Threads: any   Cost: below 1 us
double shipped_rate(std::string_view routine, const LocalLibrary& library, double flop) noexcept;

/// Returns the factor by which that rate may be wrong: of ten calls with about square matrices,
/// nine are within it. 1.3 means that a call takes between 1/1.3 and 1.3 of the expected time. At
/// least
/// 1. Thin matrices, a single right-hand side and missing vectors deviate more (docs/decision.md).
double shipped_error(std::string_view routine, const LocalLibrary& library, double flop) noexcept;

/// Returns a rate that no call of the routine exceeds: the peak of all threads, a tenth more
/// because the clock was measured for moments only. 0 if it is unknown, or if the flop count of the
/// routine is no count of operations but the cost of a usual run (eigenvalues, transforms). Units:
/// flop/s
double most_rate(std::string_view routine, const LocalLibrary& library) noexcept;

/// True if shipped_rate() knows the routine or kind of transform by name.
bool has_shipped_rate(std::string_view routine) noexcept;

}  // namespace ob::policy
