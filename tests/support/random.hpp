#pragma once
// Fresh random inputs from a printed seed.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace ob::test {

/// Returns the seed of this run: OUTBOARD_TEST_SEED, or a fresh one. Prints it, so that a run can
/// be repeated.
inline std::uint64_t test_seed() {
  const char* fixed = std::getenv("OUTBOARD_TEST_SEED");
  const std::uint64_t seed = fixed ? std::strtoull(fixed, nullptr, 0) : std::random_device{}();
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // seen even if the test crashes
  return seed;
}

/// A generator that starts with test_seed().
inline std::mt19937_64 fresh_random() { return std::mt19937_64(test_seed()); }

/// Returns a number that is uniform in [low, high].
template <class T>
T uniform(std::mt19937_64& random, T low, T high) {
  return std::uniform_int_distribution<T>(low, high)(random);
}

}  // namespace ob::test
