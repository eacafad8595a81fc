#pragma once
// Fresh random inputs from a printed seed.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace ob::test {

/// A generator whose seed is printed; OB_TEST_SEED repeats a run.
inline std::mt19937_64 fresh_random() {
  const char* fixed = std::getenv("OB_TEST_SEED");
  const std::uint64_t seed = fixed ? std::strtoull(fixed, nullptr, 0) : std::random_device{}();
  std::printf("seed: OB_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // seen even if the test crashes
  return std::mt19937_64(seed);
}

/// Uniform in [low, high].
template <class T>
T uniform(std::mt19937_64& random, T low, T high) {
  return std::uniform_int_distribution<T>(low, high)(random);
}

}  // namespace ob::test
