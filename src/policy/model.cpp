#include "policy/model.hpp"

#include <algorithm>

namespace ob::policy {
namespace {

// Stages overlap except for a part as long as one panel's stages. More panels hide more.
constexpr double kLeastPanels = 4.0;
constexpr double kCommands = 2.0;  // round trips of a call: commands and results

}  // namespace

PredictedTime predict(const Work& work, const Remote& remote) noexcept {
  PredictedTime found;
  if (!remote.link.known() || !(remote.flop_per_s > 0)) return found;
  const double there = std::clamp(remote.bytes_on_device, 0.0, work.bytes_to);
  const double travels = work.bytes_to - there;
  found.fixed_s = work.calls * kCommands * remote.link.round_trip_s;
  const double looks_s = there / kLookBytesPerS;
  found.to_s = looks_s + (travels > 0 ? remote.link.seconds_to(travels) : 0);
  // on the fastest links operands are not compared
  if (there > 0) found.to_s = std::min(found.to_s, remote.link.seconds_to(work.bytes_to));
  found.to_s += remote.fresh_bytes * remote.link.fresh_s_per_byte;
  found.compute_s = work.flop / remote.flop_per_s;
  found.from_s = work.bytes_from > 0 ? remote.link.seconds_from(work.bytes_from) : 0;
  found.waiting_s = remote.waiting_s;
  const double sum = found.to_s + found.compute_s + found.from_s;
  const double longest = std::max({found.to_s, found.compute_s, found.from_s});
  const double timings = work.overlaps ? longest + (sum - longest) / kLeastPanels : sum;
  found.whole_s = (found.fixed_s + timings) * remote.correction + found.waiting_s;
  return found;
}

}  // namespace ob::policy
