#pragma once

#include <string>

#include "base/status.hpp"

namespace ob::transport::detail {

/// The system's words for an errno value. Threads: any
std::string system_text(int error);

/// "problem (the system's words)"
Status system_error(Code code, const std::string& problem, int error);

}  // namespace ob::transport::detail
