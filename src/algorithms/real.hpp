#pragma once
// Counts as real numbers, for models of time and memory.

#include <cstdint>

namespace ob::algorithms {

/// Converts a count; exact below 2^53.
inline double real(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace ob::algorithms
