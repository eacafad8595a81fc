#include "executor/run_time.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/fd.hpp"

namespace ob::executor {
namespace {

// Source: proc(5), /proc/PID/task/TID/stat
bool is_ready_to_run(int task, const char* thread) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "%.20s/stat", thread);
  const Fd file(::openat(task, path, O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  char text[128];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  const std::string_view fields(text, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  const std::size_t name_end = fields.rfind(')');
  return name_end != std::string_view::npos && fields.substr(name_end + 1, 3) == " R ";
}

// Returns true if a thread of the process runs, or waits for a processor.
bool any_ready_to_run(pid_t process) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(process));
  DIR* const threads = ::opendir(path);
  if (threads == nullptr) return false;
  bool ready = false;
  while (const dirent* thread = ready ? nullptr : ::readdir(threads)) {
    ready = thread->d_name[0] != '.' && is_ready_to_run(::dirfd(threads), thread->d_name);
  }
  ::closedir(threads);
  return ready;
}

std::optional<std::chrono::nanoseconds> ran_for(pid_t process) noexcept {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
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
  const std::chrono::nanoseconds slept = any_ready_to_run(process_)
                                             ? std::chrono::nanoseconds()
                                             : std::min<std::chrono::nanoseconds>(passed, kLongest);
  return had_ += std::min(passed, std::max(ran_since, slept));
}

}  // namespace ob::executor
