#include "overlap/timeline.hpp"

#include <algorithm>
#include <vector>

#include "overlap/scoped_span.hpp"

namespace ob::overlap {
namespace {

// A tick that comes this soon after the one before, and that moves nothing, does not end a tile. A
// program may tick in a loop, and each line costs microseconds.
constexpr std::int64_t kShortestTile = 10'000;

/// The end of the last call of the library in this thread.
std::int64_t& left_ns() noexcept {
  static thread_local std::int64_t value = 0;
  return value;
}

std::uint64_t ns(std::int64_t time) noexcept { return std::uint64_t(time); }

std::string name_of(const Message& message) {
  return (message.sends ? "to " : "from ") + std::to_string(message.peer);
}

/// Returns the messages that are complete, in the order of their ends.
std::vector<std::size_t> complete_ones(const Exchange& exchange) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < exchange.messages().size(); ++i)
    if (!exchange.open(i)) found.push_back(i);
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    return exchange.times(a).end_ns < exchange.times(b).end_ns;
  });
  return found;
}

}  // namespace

void Timeline::name_rank(int rank) { trace_.name_process("rank " + std::to_string(rank)); }

std::int64_t Timeline::tile_begin() const noexcept {
  // A thread that has not been here since the start may have computed since then.
  return std::max(left_ns(), began_ns_.load(std::memory_order_relaxed));
}

void Timeline::end_tile(std::int64_t end) {
  if (under_way_.load(std::memory_order_relaxed) > 0)
    trace_.span("tile", kTraceCategory, ns(tile_begin()), ns(end));
}

void Timeline::note_start(const std::string& plan, Run& run, std::int64_t since) {
  end_tile(since);
  const std::int64_t now = now_ns();
  trace_.span(
      "start", kTraceCategory, ns(since), ns(now),
      {{"plan", plan}, {"mode", to_string(run.mode())}, {"bytes", run.exchange()->bytes()}});
  run.traced_start = {ns(since), trace_thread()};
  left_ns() = now_ns();
  if (under_way_.fetch_add(1, std::memory_order_relaxed) == 0)
    began_ns_.store(left_ns(), std::memory_order_relaxed);
}

void Timeline::note_call(const char* function, bool moved, std::int64_t since) {
  if (!moved && since - tile_begin() < kShortestTile) return;
  end_tile(since);
  if (moved) trace_.span(function, kTraceCategory, ns(since), ns(now_ns()));
  left_ns() = now_ns();
}

void Timeline::note_wait(const std::string& plan, Run& run, std::int64_t since) {
  const std::int64_t now = now_ns();
  end_tile(since);
  trace_.span("wait", kTraceCategory, ns(since), ns(now),
              {{"plan", plan}, {"bytes", run.exchange()->bytes()}});
  if (run.traced_start.ns != 0)
    trace_.flow("run", kTraceCategory, run.traced_start, {ns(since), trace_thread()});
  note_messages(plan, *run.exchange(), since);
  ended(run);
  left_ns() = now_ns();
}

void Timeline::note_messages(const std::string& plan, const Exchange& exchange,
                             std::int64_t since) {
  std::int64_t waited_until = since;
  for (const std::size_t i : complete_ones(exchange)) {
    const Message& message = exchange.messages()[i];
    const auto [begin, end] = exchange.times(i);
    const std::string name = name_of(message);
    trace_.interval(name, kTraceCategory, ns(begin), ns(end),
                    {{"plan", plan}, {"bytes", message.bytes()}, {"cells", message.name}});
    if (end <= waited_until) continue;
    trace_.span(name, kTraceCategory, ns(waited_until), ns(end),
                {{"neighbour", message.peer}, {"bytes", message.bytes()}});
    waited_until = end;
  }
}

void Timeline::ended(Run& run) noexcept {
  if (run.traced_start.ns == 0) return;
  run.traced_start = {};
  under_way_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace ob::overlap
