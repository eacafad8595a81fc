#pragma once
// Mutates an input of a target with a stream message by message, so that most mutants have valid
// lengths and pass the first checks.

#include <cstddef>
#include <cstdint>

#include "fuzz/framing.hpp"

namespace ob::fuzz {

/// Mutates an input; the contract of LLVMFuzzerCustomMutator.
/// @param vocabulary messages that a mutation may insert
std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                   const std::vector<RawMessage>& vocabulary);

/// Inserts messages of `second` into `first`; the contract of LLVMFuzzerCustomCrossOver.
std::size_t cross_over(View first, View second, std::span<std::uint8_t> out, unsigned seed);

}  // namespace ob::fuzz

// Defines the functions that libFuzzer looks for.
#define OB_FUZZ_MESSAGES(vocabulary)                                                       \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,     \
                                                 std::size_t max_size, unsigned seed) {    \
    static const std::vector<ob::fuzz::RawMessage> known = vocabulary;                     \
    return ob::fuzz::mutate(data, size, max_size, seed, known);                            \
  }                                                                                        \
  extern "C" std::size_t LLVMFuzzerCustomCrossOver(                                        \
      const std::uint8_t* first, std::size_t first_size, const std::uint8_t* second,       \
      std::size_t second_size, std::uint8_t* out, std::size_t max_size, unsigned seed) {   \
    return ob::fuzz::cross_over({reinterpret_cast<const std::byte*>(first), first_size},   \
                                {reinterpret_cast<const std::byte*>(second), second_size}, \
                                {out, max_size}, seed);                                    \
  }
