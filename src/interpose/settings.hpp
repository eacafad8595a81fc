#pragma once
// The settings of the drop-in library. They are read once from the environment, at the first call
// that may be remote. docs/cli.md explains them.

#include "offload/config.hpp"

namespace ob::interpose {

/// Reads the environment. This never fails.
/// @returns the settings. The default replaces an invalid value; Config::complaint names the first
///          invalid one
/// Threads: any
offload::Config read_settings();

}  // namespace ob::interpose
