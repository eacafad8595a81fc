#include "daemon/io/log.hpp"

#include <spdlog/spdlog.h>

namespace ob::daemon::log {

void debug(const std::string& line) { spdlog::debug(line); }
void info(const std::string& line) { spdlog::info(line); }
void warn(const std::string& line) { spdlog::warn(line); }

}  // namespace ob::daemon::log
