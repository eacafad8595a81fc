#include "offload/decide.hpp"

#include <algorithm>
#include <string>

#include "offload/clock.hpp"
#include "offload/profiles.hpp"

namespace ob::offload {
namespace {

using policy::Target;

// Local runs shorter than this are not worth making a first connection for, unless many of them
// took long together.
constexpr double kWorthConnectingS = 1e-3;
constexpr std::uint64_t kWorthConnectingNs = 30'000'000;
// The predicted gain that the model needs before a remote call was measured. The margin covers
// noise and costs that the model does not include.
constexpr double kMargin = 1.2;
constexpr double kMarginOfProfile = 1.05;
// A larger error of the model has other reasons than the routine.
constexpr double kMostCorrection = 4;

double local_time(const RoutineRecord& record, const policy::Work& work) noexcept {
  const double rate = record.local.rate(work.flop / work.calls);
  return rate > 0 ? work.flop / rate : 0;
}

// The time of whole remote calls over the predicted time; 1 if unknown.
double correction_of(const RoutineRecord& record, double flop) noexcept {
  const double predicted = record.predicted.at(flop);
  const double seen = record.seen.at(flop);
  if (!(predicted > 0) || !(seen > 0)) return 1;
  return std::clamp(seen / predicted, 1 / kMostCorrection, kMostCorrection);
}

}  // namespace

double device_rate(const RoutineRecord& record, const policy::Work& work,
                   const ServerFacts& facts) noexcept {
  const double seen = record.remote.rate(work.flop / work.calls);
  return seen > 0 ? seen : facts.flop_per_s * work.device_share;
}

ProbedServer Decider::probe(std::size_t server) noexcept {
  try {
    std::string complaint;
    ProbedServer probed{server, tuning_.probe(server, complaint)};
    if (probed.facts == nullptr) {
      const auto acquired = connections_.acquire();
      if (!acquired.ok()) {
        journal_.notice(acquired.status().message() + "; calls stay local");
        return probed;
      }
      journal_.report.set_server(connections_.servers()[acquired->server()]);
      probed = {acquired->server(), tuning_.probe(acquired->server(), complaint)};
    }
    if (!complaint.empty()) journal_.notice(complaint);
    return probed;
  } catch (...) {  // no memory
    return {server, nullptr};
  }
}

ProbedServer Decider::known_or_probed(std::size_t server, double local_s) noexcept {
  if (const ServerFacts* known = tuning_.server(server)) return {server, known};
  const bool worth = local_s >= kWorthConnectingS ||
                     local_runs_ns_.load(std::memory_order_relaxed) >= kWorthConnectingNs;
  return worth ? probe(server) : ProbedServer{server, nullptr};
}

CallEstimate Decider::estimate(const CallQuery& call, std::size_t server,
                               const ServerFacts& facts) noexcept {
  const policy::Work& work = call.work;
  CallEstimate found;
  found.correction = correction_of(call.record, work.flop);
  policy::Remote remote{.link = facts.link,
                        .flop_per_s = device_rate(call.record, work, facts),
                        .correction = found.correction,
                        .bytes_on_device = 0,
                        .waiting_s = facts.waiting_s(now_ns())};
  found.now = found.again = policy::predict(work, remote);
  policy::Estimate& estimate = found.estimate;
  estimate.local_s = local_time(call.record, work);
  if (work.may_stay && config_.resident_bytes != 0) {
    remote.bytes_on_device = work.bytes_to;
    found.again = policy::predict(work, remote);
    // This needs a connection for a moment, so it is done only where the result may matter.
    const bool matters =
        found.now.whole_s > estimate.local_s && found.again.whole_s < estimate.local_s;
    if (matters && call.routine != nullptr) {
      remote.bytes_on_device = residents_.bytes_on_device(server, *call.routine, call.arguments);
      if (remote.bytes_on_device > 0) found.now = policy::predict(work, remote);
    }
  }
  estimate.shape = work.shape;
  estimate.operands = work.operands;
  estimate.remote_s = found.now.whole_s;
  estimate.remote_again_s = found.again.whole_s;
  estimate.waiting_s = remote.waiting_s;
  estimate.guessed = call.record.remote.rate(work.flop / work.calls) <= 0;
  estimate.margin = facts.profile.exists() ? kMarginOfProfile : kMargin;
  return found;
}

policy::Decision Decider::decide(const CallQuery& call) noexcept {
  load_profile(tuning_, journal_, call.record, call.library, nullptr);
  const double local_s = local_time(call.record, call.work);
  policy::Decision unknown;
  unknown.target = local_s > 0 ? Target::local : Target::learn_local;
  if (!(local_s > 0)) return unknown;
  const auto preferred = connections_.preferred();
  if (!preferred) return unknown;
  const auto [server, facts] = known_or_probed(*preferred, local_s);
  if (facts == nullptr) return unknown;
  load_profile(tuning_, journal_, call.record, nullptr, facts);
  const CallEstimate found = estimate(call, server, *facts);
  policy::History& history = call.record.history;
  return call.happens ? history.decide(found.estimate) : history.expect(found.estimate);
}

}  // namespace ob::offload
