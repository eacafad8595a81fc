// Random numbers of the host, by the generator of kernels/random.cl.
#pragma once

#include <array>
#include <cstdint>

namespace mp2c {

/// Philox4x32-10: four random words of a counter and a key.
/// Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers, SC 2011
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> word, std::uint64_t seed) {
  auto low_key = static_cast<std::uint32_t>(seed);
  auto high_key = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * word[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * word[2];
    word = {static_cast<std::uint32_t>(second >> 32) ^ word[1] ^ low_key,
            static_cast<std::uint32_t>(second),
            static_cast<std::uint32_t>(first >> 32) ^ word[3] ^ high_key,
            static_cast<std::uint32_t>(first)};
    low_key += 0x9E3779B9U;
    high_key += 0xBB67AE85U;
  }
  return word;
}

/// What numbers are for; the kernels use 0 and 1.
enum class Purpose : std::uint32_t { shift = 2, start = 3 };

/// Two numbers in (0, 1).
inline std::array<double, 2> uniform_pair(std::uint64_t seed, Purpose purpose, std::uint32_t first,
                                          std::uint32_t second) {
  const auto word = philox({first, second, static_cast<std::uint32_t>(purpose), 0}, seed);
  const auto number = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
    return (static_cast<double>(bits) + 0.5) * 0x1p-53;
  };
  return {number(word[0], word[1]), number(word[2], word[3])};
}

}  // namespace mp2c
