#pragma once
// Is a result that a device gave right? Checked on this side with far less work than computing it:
// products, solutions and factors with random vectors (Freivalds), transforms with random
// functionals. docs/verification.md

#include <cstdint>
#include <span>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::verify {

enum class Verdict : std::uint8_t {
  right,      ///< within the error bound of a correct library
  wrong,      ///< no library that computes backward stably can have given this
  unchecked,  ///< no check for this routine, or for these values (NaN, Inf, info != 0)
};

struct Verification {
  Verdict verdict = Verdict::unchecked;
  double residual = 0;  ///< wrong: of the worst element that was looked at
  double bound = 0;     ///< wrong: what it may be
};

/// What a matrix held before the call, column-major without gaps (ld = its rows).
struct SavedOperand {
  std::uint8_t argument;  ///< position in Descriptor::kinds
  const void* data;       ///< the elements that the call reads
};

/// True if verify_call knows the routine.
bool is_verifiable(const Descriptor& routine) noexcept;

/// Compares the results of a finished call with what it was given.
/// Memory:  arguments hold Argument::host with the results; `saved` has each matrix that the call
///          reads as well as writes
/// Threads: any; throws std::bad_alloc
/// Cost:    a few passes over the operands: O(n^2) where the call is O(n^3)
/// Source:  Freivalds 1979; bounds: Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., sections 3.5 (products), 8.1 (triangular systems), 9.3 (LU), 10.1 (Cholesky)
/// @param seed of the random vectors; fresh for each call
/// @pre routine.legal(arguments, their lds) && !routine.trivial(arguments)
Verification verify_call(const Descriptor& routine, const Argument* arguments,
                         std::span<const SavedOperand> saved, std::uint64_t seed);

/// One side of a transform: base address, and strides in bytes of each dimension, batch dimensions
/// first; complex numbers are two reals, imaginary_offset bytes apart.
struct FftArray {
  const std::byte* data = nullptr;
  std::span<const std::int64_t> strides;
  std::int64_t imaginary_offset = 0;
};

/// Compares the output of a transform with what it was given.
/// Shapes:  counts has the batch dimensions, then plan.n; plan.batch is not looked at
/// Threads: any; throws std::bad_alloc    Cost: O(N) where the transform is O(N log N)
/// Source:  Higham, section 24.1 (error of a transform, in the 2-norm)
Verification verify_fft(const FftPlan& plan, std::span<const std::uint64_t> batch,
                        const FftArray& input, const FftArray& output, std::uint64_t seed);

}  // namespace ob::verify
