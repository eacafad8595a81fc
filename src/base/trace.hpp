#pragma once
// A timeline of a process in the Chrome trace-event format (also read by Perfetto). Parts of
// Outboard that are in the same process write to the same file.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ob {

/// A number or a word that a viewer shows with an event.
struct TraceArgument {
  TraceArgument(std::string_view n, std::integral auto v) : name(n), number(std::int64_t(v)) {}
  TraceArgument(std::string_view n, std::string_view t) : name(n), text(t), is_text(true) {}
  std::string_view name;
  std::int64_t number = 0;
  std::string_view text;
  bool is_text = false;
};
using TraceArguments = std::initializer_list<TraceArgument>;

/// A time on a thread.   Units: ns of steady_clock
struct TracePoint {
  std::uint64_t ns = 0;
  int thread = 0;
};

/// Appends the lines of an event with a single write(), so that nothing is lost when the process
/// dies. Times are ns of steady_clock. An event of more than 1 KiB is left out.
/// Threads: any
class Trace {
 public:
  /// Writes to `path`.<pid>; an empty path or a file that cannot be made traces nothing.
  explicit Trace(const std::string& path) noexcept;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  bool wanted() const noexcept { return fd_ >= 0; }

  /// A span on the calling thread.
  void span(std::string_view name, std::string_view category, std::uint64_t start_ns,
            std::uint64_t end_ns, TraceArguments arguments = {}) noexcept;
  /// A time that belongs to no thread, and that may overlap with others of the same name.
  void interval(std::string_view name, std::string_view category, std::uint64_t start_ns,
                std::uint64_t end_ns, TraceArguments arguments = {}) noexcept;
  /// An arrow between the spans in which the two points lie. The spans are written before it.
  void flow(std::string_view name, std::string_view category, TracePoint from,
            TracePoint to) noexcept;
  /// Names of this process and of the calling thread, for viewers.
  void name_process(std::string_view name) noexcept { label("process_name", name); }
  void name_thread(std::string_view name) noexcept { label("thread_name", name); }

 private:
  void label(std::string_view kind, std::string_view name) noexcept;

  int fd_ = -1;
};

/// Returns the number of the calling thread, for TracePoint.
int trace_thread() noexcept;

}  // namespace ob
