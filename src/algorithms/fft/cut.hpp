#pragma once
// Chooses where to cut transforms that are too large for a device.

#include <cstddef>
#include <cstdint>

#include "routines/fft.hpp"

namespace ob::algorithms {

/// Returns the plan with its dimensions [first, last) only.
/// @pre first < last <= plan.rank
FftPlan part_of(const FftPlan& plan, std::size_t first, std::size_t last) noexcept;

/// Returns the index of the first fast dimension. The fast dimensions are as many as fit together,
/// but not all.
/// @pre plan.rank > 1
std::size_t cut_of(const FftPlan& plan, std::uint64_t largest_bytes) noexcept;

/// Returns the divisor that splits a dimension of n points. It is near the square root of n if both
/// factors then fit; otherwise it is the largest divisor that fits; 1 if there is none.
/// Cost: sqrt(n) divisions
std::uint64_t divisor_of(std::uint64_t n, std::uint64_t largest_points) noexcept;

/// Returns enough points for a cyclic convolution of n with n. The number is 2^k or 3 2^k, which
/// splits well.
std::uint64_t convolution_points(std::uint64_t n) noexcept;

}  // namespace ob::algorithms
