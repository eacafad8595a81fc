#pragma once
// The settings of the drop-in library, read once from the environment, at the first call that
// matters.
// docs/cli.md.

#include "offload/config.hpp"

namespace ob::interpose {

/// Reads the environment; never fails.
/// @returns a value that makes no sense is replaced by the default; Config::complaint names the
///          first one
/// Threads: any
offload::Config read_settings();

}  // namespace ob::interpose
