#pragma once
// Checks of the regions that commands name.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/memory_table.hpp"

namespace ob {

/// Errors: invalid_argument if there is no such buffer or the region is not inside it
Status check_region(const char* command, BufferId id, const HeldMemory& buffer,
                    const Region& region);
/// Errors: invalid_argument if they differ
Status check_sizes(const char* command, std::uint64_t from_bytes, std::uint64_t to_bytes);
/// Checks the arguments of a digest.
/// Errors: invalid_argument if there is not one digest for each chunk
Status check_chunks(std::uint64_t chunks, std::uint64_t digests);
/// Checks the arguments of a fill, except that the region lies in its buffer.
/// Errors: invalid_argument for a triangle; if an element has another size than 1, 2, 4, 8 or 16
/// bytes; if `element` is not one
Status check_fill(const Region& region, std::span<const std::byte> element);
/// Checks two regions of one buffer.
/// Errors: invalid_argument if they overlap
Status check_disjoint(const char* command, const Region& from, const Region& to);

}  // namespace ob
