#include "sial/worker/look_ahead.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ob::sial {
namespace {

constexpr unsigned kMostAhead = 64;
constexpr unsigned kMostExtra = 16;
constexpr unsigned kFirstDepth = 2;  // before anything was measured
// Iterations without a get that a cursor passes in one step.
constexpr unsigned kMostSkipped = 1000;
constexpr double kWeight = 0.125;  // of a new value in a mean

double mean(double before, double now) noexcept {
  return before == 0 ? now : before + kWeight * (now - before);
}

}  // namespace

LookAhead::LookAhead(const Program& program, std::vector<std::optional<unsigned>> depths,
                     Future& future, std::vector<GetCounts>& counts)
    : program_(program),
      depths_(std::move(depths)),
      future_(future),
      counts_(counts),
      cursors_(program.accesses.size()) {}

void LookAhead::arrived(std::int64_t sent_ns, std::int64_t arrived_ns, bool others) noexcept {
  const auto took = static_cast<double>(std::max<std::int64_t>(arrived_ns - sent_ns, 1));
  // Requests wait for each other, so the shortest time is that of a request alone.
  const bool shorter = round_trip_ns_ == 0 || took < round_trip_ns_;
  round_trip_ns_ = shorter ? took : round_trip_ns_ * 1.01;
  if (others) {
    const auto gap = static_cast<double>(std::max<std::int64_t>(arrived_ns - last_arrival_ns_, 1));
    transfer_ns_ = mean(transfer_ns_, std::min(gap, took));
  }
  last_arrival_ns_ = arrived_ns;
}

void LookAhead::late(std::uint32_t access) noexcept {
  Cursor& cursor = cursors_[access];
  // More requests do not help where the transfer takes longer than the computation.
  if (cursor.interval_ns >= transfer_ns_) cursor.extra = std::min(cursor.extra + 1, kMostExtra);
}

// As many blocks as are needed while one is on its way.
unsigned LookAhead::depth(std::uint32_t access) const {
  const Access& record = program_.accesses[access];
  // After a guard that may change, or in a loop that may end, more than one would be a guess.
  const bool guess = record.in_open_loop || (record.guarded && !record.predictable);
  const bool fixed = !depths_.empty() && depths_[access].has_value();
  unsigned blocks = kFirstDepth;
  if (fixed) {
    blocks = *depths_[access];
  } else if (round_trip_ns_ != 0) {
    const Cursor& cursor = cursors_[access];
    const double between = std::max({cursor.interval_ns, transfer_ns_, 1.0});
    const double needed = std::ceil(round_trip_ns_ / between) + 1 + cursor.extra;
    blocks = static_cast<unsigned>(std::clamp(needed, 1.0, double{kMostAhead}));
  }
  return guess ? std::min(blocks, 1U) : blocks;
}

void LookAhead::after_get(std::uint32_t access, std::uint64_t number,
                          std::vector<ActiveLoop>& loops, IndexValues& values,
                          std::int64_t now_ns) {
  const Access& record = program_.accesses[access];
  if (record.loops.empty()) return;
  Cursor& cursor = cursors_[access];
  if (cursor.last_get_ns != 0) {
    cursor.interval_ns = mean(cursor.interval_ns, static_cast<double>(now_ns - cursor.last_get_ns));
  }
  cursor.last_get_ns = now_ns;
  const unsigned blocks = depth(access);
  counts_[access].depth = blocks;
  if (blocks == 0) return;
  if (!follows(cursor, number, loops)) restart(record, cursor, loops, values);
  if (cursor.levels.empty()) return;
  std::swap(values, cursor.values);
  while (cursor.numbers.size() < blocks && advance(record, cursor, loops)) {
    const std::optional<std::uint64_t> fetched = future_.fetch_ahead(access);
    if (!fetched) {
      cursor.levels.clear();  // begin again at the next get
      break;
    }
    cursor.numbers.push_back(*fetched);
  }
  std::swap(values, cursor.values);
}

// Says whether the get is one that the cursor has foreseen, and removes it from those ahead.
bool LookAhead::follows(Cursor& cursor, std::uint64_t number,
                        const std::vector<ActiveLoop>& loops) const {
  if (cursor.levels.empty() || cursor.levels.size() > loops.size()) return false;
  const std::size_t base = loops.size() - cursor.levels.size();
  const Level& outermost = cursor.levels.front();
  if (loops[base].execution != outermost.execution) return false;
  while (!cursor.numbers.empty()) {
    const std::uint64_t foreseen = cursor.numbers.front();
    cursor.numbers.pop_front();
    if (foreseen == number) return !cursor.numbers.empty();
  }
  return false;
}

void LookAhead::restart(const Access& access, Cursor& cursor, const std::vector<ActiveLoop>& loops,
                        const IndexValues& values) const {
  cursor.numbers.clear();
  cursor.levels.clear();
  const std::size_t depth = access.loops.size();
  if (depth > loops.size()) return;
  for (std::size_t level = 0; level < depth; ++level) {
    const ActiveLoop& active = loops[loops.size() - depth + level];
    if (active.loop != access.loops[depth - 1 - level]) return cursor.levels.clear();
    cursor.levels.push_back({active.execution, active.begun, std::nullopt});
  }
  cursor.values = values;
}

// Goes to the next iteration of one loop. Returns false if there is none.
bool LookAhead::next(const Access& access, Cursor& cursor, std::size_t level,
                     std::vector<ActiveLoop>& loops) {
  Level& place = cursor.levels[level];
  if (place.own) {
    if (place.own->coming.empty() && !future_.find_next(*place.own)) return false;
    future_.set_indices(*place.own, place.own->coming.take_front());
    return true;
  }
  ActiveLoop& active = loops[loops.size() - access.loops.size() + level];
  if (active.execution != place.execution || place.ordinal < active.begun) return false;
  const std::uint64_t ahead = place.ordinal - active.begun;
  while (active.coming.size() <= ahead) {
    if (!future_.find_next(active)) return false;
  }
  future_.set_indices(active, active.coming[ahead]);
  ++place.ordinal;
  return true;
}

// Goes to the next execution of the get. Returns false if there is none, or none nearby.
bool LookAhead::advance(const Access& access, Cursor& cursor, std::vector<ActiveLoop>& loops) {
  const std::size_t innermost = access.loops.size() - 1;
  std::size_t level = innermost;
  for (unsigned skipped = 0; skipped < kMostSkipped; ++skipped) {
    const Loop& loop = program_.loops[access.loops[innermost - level]];
    if (!next(access, cursor, level, loops)) {
      // The division of a pardo that begins anew depends on the pardos between.
      if (level == 0 || loop.kind == LoopKind::pardo) return false;
      --level;
      continue;
    }
    const bool last = level == innermost;
    const Loop* inner = last ? nullptr : &program_.loops[access.loops[innermost - level - 1]];
    const std::uint32_t to = last ? access.instruction : inner->begin;
    if (access.guarded && !future_.reaches(loop.body, to)) continue;
    if (last) return true;
    std::optional<ActiveLoop> entered = future_.enter(access.loops[innermost - level - 1]);
    if (!entered) return false;
    cursor.levels[++level] = {0, 0, std::move(entered)};
  }
  return false;
}

}  // namespace ob::sial
