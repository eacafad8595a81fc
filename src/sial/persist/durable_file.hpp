#pragma once
// Files that are on the disk when a function returns.

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace ob::sial {

/// Writes a new file, and waits until the disk has it.
/// Errors: unavailable, with the file's name and the reason
Status write_durably(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Waits until the disk has a file or a folder.   Errors: unavailable, with its name and the reason
Status synchronize(const std::filesystem::path& path);

/// Reads a whole file.   Errors: invalid_argument, with the file's name
Result<std::vector<std::byte>> read_whole(const std::filesystem::path& path);

}  // namespace ob::sial
