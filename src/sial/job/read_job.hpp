#pragma once
// Reads job files.   docs/sial/jobs.md

#include <filesystem>
#include <string_view>

#include "base/status.hpp"
#include "sial/job/job.hpp"

namespace ob::sial {

/// Reads a job and the arrays in files that it names.
/// Errors:  unavailable if a file cannot be read; invalid_argument, with file and line, if it is
///          wrong: "job.toml:3: unknown key 'intz' (...) write 'ints'"
Result<Job> read_job(const std::filesystem::path& file);

/// Reads a job from the text of a file. `file` names it; files of arrays are looked for beside it.
Result<Job> parse_job(std::string_view text, const std::filesystem::path& file);

/// Returns whether a name can be that of a folder, as jobs and labels are.
bool is_folder_name(std::string_view name) noexcept;

}  // namespace ob::sial
