#pragma once
// Reading and writing at positions of files.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"

namespace ob::sial {

/// Writes all bytes at a position of a file.
/// Errors: unavailable, with the reason and without the file's name
Status write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes);

/// Reads as many bytes as asked for from a position of a file.   Errors: as write_at()
Status read_at(int file, std::uint64_t offset, std::span<std::byte> bytes);

}  // namespace ob::sial
