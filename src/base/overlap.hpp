#pragma once
// Overlap of two regions of one buffer.

#include "base/layout.hpp"

namespace ob {

/// Returns true if an element of `a` and an element of `b` share a byte. The elements that a
/// triangle leaves out count, because libraries may touch them. Regions of one array with equal
/// leading dimension may interleave (A11 and A21).
/// Cost: a few divisions; up to 4096 times as many if both have gaps and their distances between
///       columns differ. Such regions with more columns in their common range count as overlapping.
/// @pre both lie in one buffer of less than 2^62 bytes
bool overlap(const Region& a, const Region& b) noexcept;

}  // namespace ob
