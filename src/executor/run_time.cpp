#include "executor/run_time.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

namespace ob::executor {
namespace {

// Returns the begin of a file of a process, which tells about its first thread.
std::string text_of(pid_t process, const char* name) noexcept {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(process), name);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[128];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

// Source: proc(5), /proc/PID/stat; sched-stats.rst of the kernel, /proc/PID/schedstat
bool ready_to_run(pid_t process) noexcept {
  const std::string text = text_of(process, "stat");
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 1, 3, " R ") == 0;
}

std::optional<std::chrono::nanoseconds> ran_for(pid_t process) noexcept {
  unsigned long long ran_ns = 0;
  if (std::sscanf(text_of(process, "schedstat").c_str(), "%llu", &ran_ns) != 1) return {};
  return std::chrono::nanoseconds(ran_ns);
}

}  // namespace

RunTime::RunTime(pid_t process) noexcept
    : process_(process), last_(Clock::now()), ran_(ran_for(process).value_or(ran_)) {}

std::chrono::nanoseconds RunTime::look() noexcept {
  const auto now = Clock::now();
  const std::chrono::nanoseconds passed = now - last_;
  last_ = now;
  const auto ran = ran_for(process_);
  if (!ran) return had_ += passed;
  const std::chrono::nanoseconds ran_since = *ran - ran_;
  ran_ = *ran;
  // The kernel counts a wait for a processor only when it is over, so it cannot be subtracted.
  const std::chrono::nanoseconds slept = ready_to_run(process_)
                                             ? std::chrono::nanoseconds()
                                             : std::min<std::chrono::nanoseconds>(passed, kLongest);
  return had_ += std::max(ran_since, slept);
}

}  // namespace ob::executor
