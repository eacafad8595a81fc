#include "base/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

#include "base/json_text.hpp"

namespace ob {
namespace {

/// The lines of an event. Numbers do not depend on the program's locale, which may print a comma.
class Lines {
 public:
  Lines& raw(std::string_view text) noexcept {
    if (text.size() > sizeof text_ - size_) {
      fits_ = false;
      return *this;
    }
    std::memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  Lines& text(std::string_view text) noexcept {
    raw("\"");
    escape_json(text, [&](char c) { raw({&c, 1}); });
    return raw("\"");
  }
  Lines& number(std::int64_t value) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return raw({digits, std::size_t(end - digits)});
  }
  /// Writes ns as us, the unit of the format.
  Lines& time(std::uint64_t ns) noexcept {
    const auto rest = ns % 1000;
    const char digits[] = {'.', char('0' + rest / 100), char('0' + rest / 10 % 10),
                           char('0' + rest % 10)};
    return number(std::int64_t(ns / 1000)).raw({digits, sizeof digits});
  }
  Lines& begin(std::string_view name, std::string_view category, char phase) noexcept {
    raw("{\"name\":").text(name);
    if (!category.empty()) raw(",\"cat\":").text(category);
    return raw(",\"ph\":\"").raw({&phase, 1}).raw("\"");
  }
  Lines& on(int thread) noexcept {
    return raw(",\"pid\":").number(::getpid()).raw(",\"tid\":").number(thread);
  }
  Lines& arguments(TraceArguments all) noexcept {
    std::string_view before = ",\"args\":{";
    for (const TraceArgument& one : all) {
      raw(before).text(one.name).raw(":");
      one.is_text ? text(one.text) : number(one.number);
      before = ",";
    }
    return all.size() == 0 ? *this : raw("}");
  }
  Lines& end() noexcept { return raw("},\n"); }

  void write_to(int file) const noexcept {
    // A full disk must not disturb the program. Events that cannot be written are lost.
    if (fits_ && ::write(file, text_, size_) < 0) return;
  }

 private:
  char text_[1024];
  std::size_t size_ = 0;
  bool fits_ = true;
};

/// Returns a number that ties lines together in all processes of a job. Viewers read numbers as
/// doubles, which are exact below 2^53.
std::int64_t next_id() noexcept {
  static std::atomic<std::uint32_t> last{0};
  constexpr int kBits = 31;  // Linux has at most 2^22 processes
  const std::uint32_t own = ++last & ((1u << kBits) - 1);
  return (std::int64_t(::getpid()) << kBits) + own;
}

}  // namespace

int trace_thread() noexcept { return ::gettid(); }

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
                 std::uint64_t end_ns, TraceArguments arguments) noexcept {
  if (!wanted()) return;
  Lines line;
  line.begin(name, category, 'X').raw(",\"ts\":").time(start_ns);
  line.raw(",\"dur\":").time(std::max(start_ns, end_ns) - start_ns);
  line.on(trace_thread()).arguments(arguments).end().write_to(fd_);
}

void Trace::interval(std::string_view name, std::string_view category, std::uint64_t start_ns,
                     std::uint64_t end_ns, TraceArguments arguments) noexcept {
  if (!wanted()) return;
  const std::int64_t id = next_id();
  const int thread = trace_thread();
  Lines lines;
  lines.begin(name, category, 'b').raw(",\"id\":").number(id).raw(",\"ts\":").time(start_ns);
  lines.on(thread).arguments(arguments).end();
  lines.begin(name, category, 'e').raw(",\"id\":").number(id).raw(",\"ts\":").time(end_ns);
  lines.on(thread).end().write_to(fd_);
}

void Trace::flow(std::string_view name, std::string_view category, TracePoint from,
                 TracePoint to) noexcept {
  if (!wanted()) return;
  const std::int64_t id = next_id();
  Lines lines;
  lines.begin(name, category, 's').raw(",\"id\":").number(id).raw(",\"ts\":").time(from.ns);
  lines.on(from.thread).end();
  // By itself, an arrow would end in the span that begins next.
  lines.begin(name, category, 'f').raw(",\"bp\":\"e\",\"id\":").number(id);
  lines.raw(",\"ts\":").time(to.ns).on(to.thread).end().write_to(fd_);
}

void Trace::label(std::string_view kind, std::string_view name) noexcept {
  if (!wanted()) return;
  Lines line;
  line.begin(kind, {}, 'M').on(trace_thread()).arguments({{"name", name}}).end().write_to(fd_);
}

}  // namespace ob
