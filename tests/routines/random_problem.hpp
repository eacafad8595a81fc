#pragma once
// Random legal calls of any routine of the table, with everything that is not referenced poisoned.

#include <cstdint>

#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

/// A legal call: any flags, dimensions from 0 to `largest`, scalars 0, 1, -1 or another, gaps
/// between columns and elements, increments of both signs, and data with which results are well
/// conditioned (operand_data.hpp).
/// Memory: poisoned except for the elements that the routine reads
Problem random_problem(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                       bool row_major = false);

/// The same, but one with something worth sending to a device.
Problem random_work(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest,
                    bool row_major = false);

}  // namespace ob::test
