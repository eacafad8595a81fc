#pragma once
// Checks on the host whether the result of a device is right. A check takes much less work than the
// computation. Products, solutions and factors are checked with random vectors (Freivalds),
// transforms with random functionals. docs/verification.md has the method.

#include <cstdint>
#include <span>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::verify {

enum class Verdict : std::uint8_t {
  right,      ///< within the error bound of a correct library
  wrong,      ///< no backward stable library can give this result
  unchecked,  ///< there is no check for this routine or these values (NaN, Inf, info != 0)
};

struct Verification {
  Verdict verdict = Verdict::unchecked;
  double residual = 0;  ///< wrong: the residual of the worst element that was checked
  double bound = 0;     ///< wrong: the largest residual of a right result
};

/// The contents of a matrix before the call, column-major without gaps (ld = number of rows).
struct SavedOperand {
  std::uint8_t argument;  ///< position in Descriptor::kinds
  const void* data;       ///< the elements that the call reads
};

/// True if verify_call() has a check for the routine.
bool is_verifiable(const Descriptor& routine) noexcept;

/// Checks the results of a finished call against its input.
/// Memory:  arguments hold Argument::host with the results; `saved` has each matrix that the call
///          both reads and writes
/// Threads: any; throws std::bad_alloc
/// Cost:    a few passes over the operands: O(n^2) where the call is O(n^3)
/// Source:  Freivalds 1979; bounds: Higham, Accuracy and Stability of Numerical Algorithms, 2nd
///          ed., sections 3.5 (products), 8.1 (triangular systems), 9.3 (LU), 10.1 (Cholesky)
/// @param seed selects the random vectors; each call takes a new one
/// @pre routine.legal(arguments, their lds) && !routine.trivial(arguments)
Verification verify_call(const Descriptor& routine, const Argument* arguments,
                         std::span<const SavedOperand> saved, std::uint64_t seed);

/// One side of a transform: the base address, and the stride of each dimension, batch dimensions
/// first. Complex numbers are two reals, imaginary_offset bytes apart.
/// Units: bytes
struct FftArray {
  const std::byte* data = nullptr;
  std::span<const std::int64_t> strides;
  std::int64_t imaginary_offset = 0;
};

/// Checks the output of a transform against its input.
/// Shapes:  arrays have the dimensions of `batch`, then those of plan.n; plan.batch is ignored
/// Threads: any; throws std::bad_alloc    Cost: O(N) where the transform is O(N log N)
/// Source:  Higham, section 24.1 (error of a transform, in the 2-norm)
Verification verify_fft(const FftPlan& plan, std::span<const std::uint64_t> batch,
                        const FftArray& input, const FftArray& output, std::uint64_t seed);

}  // namespace ob::verify
