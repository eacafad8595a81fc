#include "offload/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace ob::offload {
namespace {

// The whole microseconds of the format. They are not printed as a double, because the program's
// locale may print it with a comma.
unsigned long long whole_us(std::uint64_t ns) noexcept { return ns / 1000; }
unsigned rest_ns(std::uint64_t ns) noexcept { return static_cast<unsigned>(ns % 1000); }

}  // namespace

Trace::Trace(const std::string& path) noexcept {
  if (path.empty()) return;
  const std::string own = path + "." + std::to_string(::getpid());
  // The file is not truncated: a process that execs keeps its number, and continues the same list.
  fd_ = ::open(own.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool fresh = fd_ >= 0 && ::lseek(fd_, 0, SEEK_END) == 0;
  if (fresh && ::write(fd_, "[\n", 2) != 2) {
    ::close(fd_);
    fd_ = -1;
  }
}

Trace::~Trace() {
  if (fd_ >= 0) ::close(fd_);
}

void Trace::span(std::string_view name, std::string_view category, std::uint64_t start_ns,
                 std::uint64_t end_ns, std::uint64_t bytes) noexcept {
  if (fd_ < 0) return;
  char line[256];
  const int n = std::snprintf(
      line, sizeof(line),
      "{\"name\":\"%.*s\",\"cat\":\"%.*s\",\"ph\":\"X\",\"ts\":%llu.%03u,"
      "\"dur\":%llu.%03u,\"pid\":%d,\"tid\":%d,"
      "\"args\":{\"bytes\":%llu}},\n",
      static_cast<int>(name.size()), name.data(), static_cast<int>(category.size()),
      category.data(), whole_us(start_ns), rest_ns(start_ns), whole_us(end_ns - start_ns),
      rest_ns(end_ns - start_ns), ::getpid(), ::gettid(), static_cast<unsigned long long>(bytes));
  // A full disk must not disturb the program. Events that cannot be written are lost.
  if (n > 0 && n < static_cast<int>(sizeof(line)) &&
      ::write(fd_, line, static_cast<std::size_t>(n)) < 0)
    return;
}

}  // namespace ob::offload
