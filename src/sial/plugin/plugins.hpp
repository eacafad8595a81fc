#pragma once
// Super-instructions from shared libraries.   include/outboard/sial.h

#include "base/status.hpp"
#include "sial/job/job.hpp"
#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

/// Opens the plug-ins of a job, and adds their super-instructions. The libraries stay open until
/// the process ends.
/// Memory: `job` must live as long as the functions
/// Errors: invalid_argument, for all plug-ins together, if one cannot be opened, is no plug-in or
/// has a name that is there already
Status add_plugins(const Job& job, SuperFunctions& functions);

}  // namespace ob::sial
