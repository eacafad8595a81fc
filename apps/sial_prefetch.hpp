#pragma once
// The depths of the look-ahead that the options and the job file choose.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/code/program.hpp"

namespace ob::apps {

/// "FILE:LINE" of a get to the number of blocks to fetch ahead there.
using PrefetchLines = std::map<std::string, std::int64_t>;

/// Returns the number of blocks ahead per access of a program; nothing where it is to be measured.
/// @param prefetch `auto`, `off` or a number; empty: auto
/// Errors: invalid_argument
Result<std::vector<std::optional<unsigned>>> prefetch_depths(const sial::Program& program,
                                                             const std::string& prefetch,
                                                             const PrefetchLines& lines);

}  // namespace ob::apps
