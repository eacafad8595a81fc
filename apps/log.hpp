#pragma once
// The log of outboardd, on stderr. Only log.cpp includes the logging library.

#include <string>

namespace ob::apps::log {

/// Sends the log of this process to stderr, from `level` on: debug, info, warn, error.
/// Threads: the first one, before any other starts
void start(const std::string& level);

/// Writes one line.
/// Threads: any      Errors: none; a line that cannot be written is lost
void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

}  // namespace ob::apps::log
