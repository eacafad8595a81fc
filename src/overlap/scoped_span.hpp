#pragma once

#include <cstddef>
#include <cstdint>

#include "base/trace.hpp"
#include "overlap/clock.hpp"

namespace ob::overlap {

/// The category of all events of the library.
inline constexpr const char* kTraceCategory = "overlap";

/// Writes its lifetime to a trace, if there is one.
class ScopedSpan {
 public:
  /// @param trace or null
  ScopedSpan(Trace* trace, const char* name, std::size_t bytes) noexcept
      : trace_(trace), name_(name), bytes_(bytes), began_ns_(trace == nullptr ? 0 : now_ns()) {}
  ~ScopedSpan() {
    if (trace_ != nullptr)
      trace_->span(name_, kTraceCategory, std::uint64_t(began_ns_), std::uint64_t(now_ns()),
                   {{"bytes", bytes_}});
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Trace* const trace_;
  const char* const name_;
  const std::size_t bytes_;
  const std::int64_t began_ns_;
};

}  // namespace ob::overlap
