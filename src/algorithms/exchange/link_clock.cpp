#include "algorithms/exchange/link_clock.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ob::algorithms {
namespace {

// The blocks of one transfer that are simulated, at most: more of them would only cost time.
constexpr double kMostBlocks = 16;

}  // namespace

LinkClock::LinkClock(const ExchangeModel& model)
    : message_s_(model.message_s),
      block_bytes_(model.block_bytes),
      peer_bytes_per_s_(model.peer_bytes_per_s),
      client_out_{model.to_bytes_per_s, {}},
      client_in_{model.from_bytes_per_s, {}},
      out_(model.ranks.size(), Link{model.link_bytes_per_s, {}}),
      in_(model.ranks.size(), Link{model.link_bytes_per_s, {}}) {}

// The first time from `time` on from which the link is free for `duration`.
double LinkClock::Link::free_at(double time, double duration) const {
  auto next = std::upper_bound(busy.begin(), busy.end(), time,
                               [](double at, const Busy& one) { return at < one.until; });
  for (; next != busy.end() && next->from < time + duration; ++next) time = next->until;
  return time;
}

void LinkClock::Link::occupy(double from, double duration) {
  const double until = from + duration;
  auto next = std::upper_bound(busy.begin(), busy.end(), from,
                               [](double at, const Busy& one) { return at < one.from; });
  constexpr double kNone = 1e-9;
  if (next != busy.begin() && from - std::prev(next)->until < kNone) {
    std::prev(next)->until = until;
  } else {
    next = std::next(busy.insert(next, {from, until}));
  }
  if (next != busy.end() && next->from - until < kNone) {
    std::prev(next)->until = next->until;
    busy.erase(next);
  }
}

LinkClock::Passing LinkClock::pass(Link& out, Link& in, double bytes, const Passing& there,
                                   double free, double bytes_per_s) {
  const double rate = bytes_per_s > 0 ? bytes_per_s : std::min(out.bytes_per_s, in.bytes_per_s);
  const double messages = std::max(1.0, std::ceil(bytes / block_bytes_));
  const auto blocks = static_cast<std::size_t>(std::min(messages, kMostBlocks));
  const double one = (messages * message_s_ + bytes / rate) /
                     static_cast<double>(std::max<std::size_t>(1, blocks));
  Passing here;
  double last = free;
  for (std::size_t i = 0; i < blocks; ++i) {
    double start = std::max(last, i < there.blocks.size() ? there.blocks[i] : there.last());
    for (double seen = -1; seen != start;) {
      seen = start;
      start = in.free_at(out.free_at(start, one), one);
    }
    out.occupy(start, one);
    in.occupy(start, one);
    last = start + one;
    here.blocks.push_back(last);
  }
  return here;
}

double LinkClock::send(std::size_t to, double bytes, double ready) {
  return pass(client_out_, in_[to], bytes, {ready, {}}, ready).last();
}

double LinkClock::fetch(std::size_t from, double bytes, double ready) {
  return pass(out_[from], client_in_, bytes, {ready, {}}, ready).last();
}

LinkClock::Passing LinkClock::forward(std::size_t from, std::size_t to, double bytes,
                                      const Passing& there, double free) {
  return pass(out_[from], in_[to], bytes, there, free, peer_bytes_per_s_);
}

LinkClock::Passing LinkClock::up(std::size_t from, double bytes, double ready) {
  return pass(out_[from], client_in_, bytes, {ready, {}}, ready);
}

LinkClock::Passing LinkClock::down(std::size_t to, double bytes, const Passing& here, double free) {
  return pass(client_out_, in_[to], bytes, here, free);
}

}  // namespace ob::algorithms
