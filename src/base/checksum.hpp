#pragma once
// Checksums of files and messages.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ob {

/// Returns 64 bits of XXH3, which detect damage by accident. They are not cryptographic.
/// Source: xxHash, XXH3 64-bit variant, seed 0 (the same value on every processor)
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace ob
