#include "device/compute_time.hpp"

#include <cstdio>
#include <string>

namespace ob {
namespace {

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", value);
  return text;
}

}  // namespace

Computation computation_of(const Descriptor& routine, double flop,
                           const Account& account) noexcept {
  return {account, routine.id, flop, routine.name};
}

// Kinds of transforms lie above the routine ids, which have 32 bits.
Computation computation_of(const FftPlan& plan, const Account& account) noexcept {
  const std::uint64_t kind = (std::uint64_t{1} << 32) +
                             static_cast<std::uint64_t>(plan.kind) * 256 +
                             static_cast<std::uint64_t>(plan.precision);
  return {account, kind, flops(plan), "a transform"};
}

Status ComputeTime::admit(const FairTurns::Turn& turn, const Computation& what,
                          QueueReport& report) const {
  report.waited_ns += turn.waited_ns();
  if (longest_s_ <= 0 || !turn.holds_others_up()) return {};
  const double predicted_s = predict(what);
  if (predicted_s <= longest_s_) return {};
  return {Code::busy, std::string(what.name) + " would take about " + seconds(predicted_s) +
                          " here (the limit is " + seconds(longest_s_) +
                          " while others wait); try again later, or raise --longest-command"};
}

}  // namespace ob
