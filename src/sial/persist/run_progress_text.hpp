#pragma once
// The progress of a run as the table [run] in the table of saved objects.

#include <optional>
#include <string>

#include "sial/job/toml.hpp"
#include "sial/persist/run_progress.hpp"

namespace ob::sial {

std::string progress_text(const RunProgress& progress);
/// Returns nothing if the table is no progress of a run.
std::optional<RunProgress> read_progress(const toml::table& table);

}  // namespace ob::sial
