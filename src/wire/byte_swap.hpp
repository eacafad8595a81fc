#pragma once
// Element data between machines of different byte order: the receiver reverses the bytes of every
// word, in the copy that it makes anyway. docs/decisions/0008-byte-order.md has the figures.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ob::wire {

/// The byte order of this side's element data, as hello and welcome state it.
inline constexpr std::uint8_t kBigEndian = std::endian::native == std::endian::big ? 1 : 0;

/// Transfers of this size and more are stored past the caches. The size is twice the L2 (2 MiB) of
/// the processor on which it was measured. On it, ordinary stores make a swapped copy of 16 MiB 1.5
/// times as expensive as an unswapped one.
inline constexpr std::uint64_t kStreamingBytes = std::uint64_t{4} << 20;

/// Copies size_bytes from `from` to `to`, reversing the bytes of every word.
/// Memory: any alignment; to == from (in place), or no overlap   Threads: any
/// @param whole_bytes the size of the whole transfer: a large one is stored past the caches
/// @pre word_bytes is 2, 4 or 8 and divides size_bytes
void copy_swapped(std::byte* to, const std::byte* from, std::uint64_t size_bytes,
                  std::uint32_t word_bytes, std::uint64_t whole_bytes) noexcept;

}  // namespace ob::wire
