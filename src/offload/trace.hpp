#pragma once
// A timeline of calls in the Chrome trace-event format (also read by Perfetto), one file per
// process.

#include <cstdint>
#include <string>
#include <string_view>

namespace ob::offload {

/// Appends one line per event with a single write(), so that nothing is lost when the process dies.
/// Threads: any
class Trace {
 public:
  /// Writes to `path`.<pid>; an empty path or a file that cannot be made traces nothing.
  explicit Trace(const std::string& path) noexcept;
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  bool wanted() const noexcept { return fd_ >= 0; }

  /// A span on this thread. Units: ns of steady_clock
  void span(std::string_view name, std::string_view category, std::uint64_t start_ns,
            std::uint64_t end_ns, std::uint64_t bytes = 0) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace ob::offload
