#include "overlap/programs/call_trace.hpp"

#include <array>
#include <cstdio>

namespace ob::overlap {
namespace {

constexpr const char* kCategory = "mpi";

std::uint64_t ns(std::int64_t time) noexcept { return std::uint64_t(time); }

}  // namespace

void CallTrace::note_start(const Operation& operation) noexcept {
  const Call& call = operation.call;
  if (call.is_written) return;
  const std::uint64_t begin = ns(call.begin_ns);
  const std::uint64_t end = ns(operation.start_ns);
  // Collective operations have no peer, and MPI_ANY_SOURCE is none.
  if (operation.peer >= 0)
    trace_.span(call.function, kCategory, begin, end,
                {{"neighbour", operation.peer}, {"bytes", operation.bytes}});
  else
    trace_.span(call.function, kCategory, begin, end, {{"bytes", operation.bytes}});
}

void CallTrace::completed(std::uintptr_t place, const CallSite& call, std::int64_t end_ns,
                          std::span<const Operation> operations) noexcept {
  if (!wanted()) return;
  try {
    const std::lock_guard guard(lock_);
    const std::int64_t begin_ns = end_ns - call.exposed_ns;
    trace_.span(call.function, kCategory, ns(begin_ns), ns(end_ns),
                {{"site", site(place)},
                 {"operations", call.operations},
                 {"bytes", call.bytes},
                 {"hidden_ns", call.hidden_ns}});
    const TracePoint end{ns(begin_ns), trace_thread()};
    for (const Operation& operation : operations) {
      const Call& start = operation.call;
      trace_.flow(start.function, kCategory, {ns(start.begin_ns), start.thread}, end);
    }
  } catch (...) {
    // Without memory for the name of the place, the call is missing in the trace.
  }
}

const std::string& CallTrace::site(std::uintptr_t place) {
  std::string& text = sites_[place];
  if (!text.empty()) return text;
  const Place at = describe(place);
  const std::string file = at.object.substr(at.object.rfind('/') + 1);
  std::array<char, 24> offset{};
  std::snprintf(offset.data(), offset.size(), "+0x%llx",
                static_cast<unsigned long long>(at.offset));
  return text = (file.empty() ? "?" : file) + offset.data();
}

}  // namespace ob::overlap
