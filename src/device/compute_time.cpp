#include "device/compute_time.hpp"

#include <cstdio>
#include <string>

namespace ob {
namespace {

std::string in_seconds(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", time.count());
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
  if (what.account.use != nullptr) what.account.use->waited(turn.waited_ns());
  if (longest_.count() <= 0 || !turn.holds_others_up()) return {};
  const std::chrono::duration<double> predicted(predict(what));
  if (predicted <= longest_) return {};
  return {Code::busy, std::string(what.name) + " would take about " + in_seconds(predicted) +
                          " here (the limit is " + in_seconds(longest_) +
                          " while others wait); try again later, or raise --longest-command"};
}

Status ComputeTime::reason_to_stop(const Account& account,
                                   std::chrono::duration<double> took) const {
  if (longest_.count() <= 0 || took <= longest_ || !wanted_by_others(account)) return {};
  return {Code::busy, "stopped after " + in_seconds(longest_) +
                          " because others wait; try again later, or raise --longest-command"};
}

}  // namespace ob
