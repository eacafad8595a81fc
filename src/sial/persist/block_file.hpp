#pragma once
// Blocks of a distributed array in a file.   Format: docs/sial/jobs.md, "Saved objects"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "base/status.hpp"
#include "sial/blocks/block.hpp"

namespace ob::sial {

/// Writes a new file and waits until the disk has it.
/// @param block is called for each number, and its block is released before the next call
/// Errors: unavailable, with the file's name and the reason; those of `block`
Status write_block_file(const std::filesystem::path& path, std::span<const std::uint64_t> numbers,
                        const std::function<Result<ConstBlockPtr>(std::uint64_t)>& block);

/// Gets the blocks of a file.
struct BlockReceiver {
  std::function<bool(std::uint64_t)> wanted;  ///< by number
  std::function<Result<BlockPtr>(const Shape&)> allocate;
  /// Is called after the checksum of the block was compared, and before the next is allocated.
  std::function<void(std::uint64_t, BlockPtr)> take;
};

/// Reads the wanted blocks of a file.
/// Errors: invalid_argument if the file cannot be read or is damaged; those of `allocate`
Status read_block_file(const std::filesystem::path& path, const BlockReceiver& receiver);

}  // namespace ob::sial
