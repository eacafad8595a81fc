#pragma once
// Library calls with random flags, shapes and values. Each is compared with a simple reference
// computation. Elements that the call must not read are NaN, and everything outside the result must
// stay unchanged. The calls do not use Outboard: a program made of them must give the same results
// with and without it.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace workload {

using Rng = std::mt19937_64;

/// Returns every name that run() accepts: "sgemm" ... "zpotrs", and "fftw", "fftwf".
const std::vector<std::string>& routines();

/// Makes one call of `routine` with dimensions up to `size`. Returns an empty text if the result is
/// correct, else the error. Compares elements with a naive product up to about 200, and products
/// with a random vector above.
/// Threads: any, each with its own rng (FFTW planning is serialised inside).
std::string run(const std::string& routine, int size, Rng& rng);

/// Returns a number for a message, with three digits.
std::string number(double value);

/// Returns OUTBOARD_TEST_SEED, or a fresh seed.
std::uint64_t seed();

}  // namespace workload
