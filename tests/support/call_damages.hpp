#pragma once
// The damages of hostile calls.

#include <cstdint>

#include "support/choices.hpp"
#include "support/hostile_calls.hpp"

namespace ob::test {

/// Damages a legal call whose operands lie in the buffers of their arguments, in `count` ways that
/// the bytes choose, and adds their names to its text. Some damages do not apply to some routines.
void damage_call(HostileCall& call, const HostileBuffers& buffers, Choices& choices,
                 std::size_t count);

/// Returns the bits of a double that libraries seldom get: NaN, infinity, denormal, the largest.
std::uint64_t odd_number(Choices& choices) noexcept;

}  // namespace ob::test
