#pragma once
// Library calls with random flags, shapes and values, each checked against a plain oracle of its
// own, with NaN in every element that the call may not read and a check that everything outside the
// result is unchanged. Knows nothing of Outboard: a program made of these must give the same
// answers with and without it.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace workload {

using Rng = std::mt19937_64;

/// Every name run() understands: "sgemm" ... "zpotrs", and "fftw", "fftwf".
const std::vector<std::string>& routines();

/// Makes one call of `routine` with dimensions up to `size`; empty if the result is right, else
/// what is wrong. Elementwise against a naive product up to about 200, by products with a random
/// vector above. Threads: any, each with its own rng (FFTW planning is serialised inside).
std::string run(const std::string& routine, int size, Rng& rng);

/// A number for a message, with three digits.
std::string number(double value);

/// OUTBOARD_TEST_SEED, or a fresh one.
std::uint64_t seed();

}  // namespace workload
