#pragma once
// Lines of Outboard's own on stderr.

#include <unistd.h>

#include <string>

namespace ob::apps {

/// Writes a line to stderr, unless the caller closed it.
inline void say(const std::string& text) {
  const std::string line = "outboard: " + text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace ob::apps
