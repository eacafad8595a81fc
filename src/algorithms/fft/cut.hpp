#pragma once
// Where transforms that are too large for a device are cut.

#include <cstddef>
#include <cstdint>

#include "routines/fft.hpp"

namespace ob::algorithms {

/// The plan with its dimensions [first, last) only.   @pre first < last <= plan.rank
FftPlan part_of(const FftPlan& plan, std::size_t first, std::size_t last) noexcept;

/// The first of the fast dimensions: as many as fit together, but not all.   @pre plan.rank > 1
std::size_t cut_of(const FftPlan& plan, std::uint64_t largest_bytes) noexcept;

/// The divisor of n points to split by: near its square root if both factors then fit, else the
/// largest that does; 1 if there is none.   Cost: sqrt(n) divisions
std::uint64_t divisor_of(std::uint64_t n, std::uint64_t largest_points) noexcept;

/// Enough points for a cyclic convolution of n with n: 2^k or 3 2^k, which split well.
std::uint64_t convolution_points(std::uint64_t n) noexcept;

}  // namespace ob::algorithms
