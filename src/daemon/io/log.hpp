#pragma once
// The daemon's log. The logging library is included by log.cpp only.

#include <string>

namespace ob::daemon::log {

/// Writes one line at this level to the process's default logger.
/// Threads: any      Errors: none; a line that cannot be written is lost
void debug(const std::string& line);
void info(const std::string& line);
void warn(const std::string& line);

}  // namespace ob::daemon::log
