#pragma once
// Writes jobs as TOML, for `outboard sial import`.

#include <filesystem>
#include <string>

#include "base/status.hpp"
#include "sial/job/job.hpp"

namespace ob::sial {

/// Returns the text of a job file, which read_job() reads back as the same job. Arrays of at most
/// 64 elements are inline. Larger ones are named as files: array_file() says which.
std::string job_text(const Job& job);

/// Returns the name of the file of an array beside the job file; empty if the array is inline.
template <class T>
std::string array_file(const Job& job, const std::string& name, const Elements<T>& array);

/// Writes a job and, beside it, the files of its arrays. Existing files are replaced.
/// Errors:  unavailable if a file cannot be written
Status write_job(const std::filesystem::path& file, const Job& job);

}  // namespace ob::sial
