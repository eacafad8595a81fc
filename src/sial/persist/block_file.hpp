#pragma once
// Blocks of a distributed array in a file.   Format: docs/sial/jobs.md, "Saved arrays"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "sial/blocks/block.hpp"

namespace ob::sial {

/// A block and its number in the array.
using NumberedBlock = std::pair<std::uint64_t, ConstBlockPtr>;

/// Writes a new file and waits until the disk has it.
/// Errors: unavailable, with the file's name and the reason
Status write_block_file(const std::filesystem::path& path,
                        const std::vector<NumberedBlock>& blocks);

/// Reads the blocks of a file for which `wanted(number)` is true. `take` gets each one after its
/// checksum was compared.
/// Errors: unavailable if the file cannot be read or is damaged; out_of_memory
Status read_block_file(const std::filesystem::path& path, BlockPool& pool,
                       const std::function<bool(std::uint64_t)>& wanted,
                       const std::function<void(std::uint64_t, BlockPtr)>& take);

}  // namespace ob::sial
