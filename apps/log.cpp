#include "log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace ob::apps::log {
namespace {

// The logger is never destroyed, because the thread that waits for signals may write while the
// process exits.
std::shared_ptr<spdlog::logger>& logger() {
  static auto* const kept = new std::shared_ptr<spdlog::logger>(spdlog::default_logger());
  return *kept;
}

}  // namespace

void start(const std::string& level) {
  logger() = spdlog::stderr_color_mt("outboardd");
  spdlog::set_default_logger(logger());
  spdlog::set_level(spdlog::level::from_str(level));
}

void info(const std::string& line) { logger()->info(line); }
void warn(const std::string& line) { logger()->warn(line); }
void error(const std::string& line) { logger()->error(line); }

}  // namespace ob::apps::log
