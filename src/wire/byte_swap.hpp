#pragma once
// Element data between machines of different byte order: the receiver reverses the bytes of every
// word, in the copy that it makes anyway. docs/decisions/0008-byte-order.md has the figures.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ob::wire {

/// What hello and welcome say of this side's element data.
inline constexpr std::uint8_t kBigEndian = std::endian::native == std::endian::big ? 1 : 0;

/// From here on what is received goes past the caches: twice the L2 (2 MiB) of the processor it was
/// measured on, where ordinary stores cost 16 MiB half as much again as receiving them unswapped.
inline constexpr std::uint64_t kStreamingBytes = std::uint64_t{4} << 20;

/// Copies size_bytes from `from` to `to`, reversing the bytes of every word.
/// Memory: any alignment; to == from (in place), or no overlap   Threads: any
/// @param whole_bytes of the transfer that this is a part of: large ones pass the caches by
/// @pre word_bytes is 2, 4 or 8 and divides size_bytes
void copy_swapped(std::byte* to, const std::byte* from, std::uint64_t size_bytes,
                  std::uint32_t word_bytes, std::uint64_t whole_bytes) noexcept;

}  // namespace ob::wire
