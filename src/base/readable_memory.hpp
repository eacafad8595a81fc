#pragma once
// Reads memory of this process that may disappear at any time.

#include <cstddef>
#include <span>

#include "base/layout.hpp"

namespace ob {

/// Copies the bytes of `source`, packed, to `destination`. False if a part of them cannot be read,
/// for example because the program has unmapped it; `destination` is undefined then. Bytes that are
/// written meanwhile may be old or new ones.
/// @pre destination.size() == source.total_bytes()
/// Threads: any   Cost: a system call for each 64 pieces   Source: process_vm_readv(2)
bool copy_if_readable(std::span<std::byte> destination, const Layout& source) noexcept;

}  // namespace ob
