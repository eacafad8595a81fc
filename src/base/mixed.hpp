#pragma once
// A mix of 64 bits.   Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014 (SplitMix64)

#include <cstdint>

namespace ob {

/// The distance of the states of a generator that mixes them.
inline constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15;

/// Returns a bijective mix of `bits`: neighbouring numbers give numbers without any likeness.
constexpr std::uint64_t mixed(std::uint64_t bits) noexcept {
  bits += kMixStep;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace ob
