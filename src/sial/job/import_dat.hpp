#pragma once
// Reads the older, binary form of jobs.   docs/sial/jobs.md, "Older job files"

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/status.hpp"
#include "sial/job/job.hpp"

namespace ob::sial {

/// Reads an older job file.
/// Errors:  unavailable if the file cannot be read; invalid_argument if it is none, or is damaged
Result<Job> import_dat(const std::filesystem::path& file);

/// Reads an older job from memory. `file` names it.
/// Memory:  a small multiple of the bytes, whatever they say
Result<Job> parse_dat(std::span<const std::byte> bytes, const std::filesystem::path& file);

}  // namespace ob::sial
