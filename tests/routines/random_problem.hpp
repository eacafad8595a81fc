#pragma once
// Random legal calls of any routine of the table. All unreferenced memory is poison.

#include <cstdint>

#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

/// Returns a legal call: any flags, dimensions from 0 to `largest`, scalars 0, 1, -1 or another
/// value, gaps between columns and elements, increments of both signs, and data with
/// well-conditioned results (operand_data.hpp).
/// Memory: poisoned except for the elements that the routine reads
Problem random_problem(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                       bool row_major = false);

/// Returns such a call with work for a device.
Problem random_work(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                    bool row_major = false);

}  // namespace ob::test
