#pragma once

#include <string>

#include "base/status.hpp"

namespace ob::transport::detail {

/// Returns the system's message for an errno value.   Threads: any
std::string system_text(int error);

/// Formats "problem (the system's message)".
Status system_error(Code code, const std::string& problem, int error);

}  // namespace ob::transport::detail
