#include "offload/decide.hpp"

#include <algorithm>
#include <string>

#include "offload/profiles.hpp"
#include "offload/residents.hpp"

namespace ob::offload {
namespace {

using policy::Choice;

// Local runs shorter than this are not worth making a first connection for, unless many of them
// took long together.
constexpr double kWorthConnectingS = 1e-3;
constexpr std::uint64_t kWorthConnectingNs = 30'000'000;
// What the model must promise to be believed unseen: covers noise and what it leaves out.
constexpr double kMargin = 1.2;
constexpr double kMarginOfProfile = 1.05;
// Sharing: parts in eighths, so that operands which stay on the device are cut the same way again;
// shorter calls lose more to the second thread than they gain; parts wait for each other a little.
constexpr double kWorthSharingS = 2e-3;
constexpr int kShares = 8;
constexpr double kLeastShare = 0.125;
constexpr double kSharingLoss = 1.1;
// Further off than this the model has other reasons than the routine's.
constexpr double kMostCorrection = 4;

double here_of(const RoutineRecord& record, const policy::Work& work) noexcept {
  const double rate = record.local.rate(work.flop / work.calls);
  return rate > 0 ? work.flop / rate : 0;
}

// What whole remote calls take over what is predicted; 1 if unknown.
double correction_of(const RoutineRecord& record, double flop) noexcept {
  const double predicted = record.predicted.at(flop);
  const double seen = record.seen.at(flop);
  if (!(predicted > 0) || !(seen > 0)) return 1;
  return std::clamp(seen / predicted, 1 / kMostCorrection, kMostCorrection);
}

const ServerFacts* known_or_met(State& state, std::size_t server, double here_s) noexcept {
  if (const ServerFacts* known = state.tuning.server(server)) return known;
  const bool worth = here_s >= kWorthConnectingS ||
                     state.short_runs_ns.load(std::memory_order_relaxed) >= kWorthConnectingNs;
  return worth ? meet(state, server) : nullptr;
}

}  // namespace

double device_rate(const RoutineRecord& record, const policy::Work& work,
                   const ServerFacts& facts) noexcept {
  const double seen = record.remote.rate(work.flop / work.calls);
  return seen > 0 ? seen : facts.flop_per_s * work.device_share;
}

const ServerFacts* meet(State& state, std::size_t server) noexcept {
  try {
    std::string complaint;
    const ServerFacts* facts = state.tuning.meet(server, complaint);
    if (facts == nullptr) {
      const auto acquired = state.pool.acquire();
      if (!acquired.ok()) {
        state.notice(acquired.status().message() + "; calls stay local");
        return nullptr;
      }
      state.report.set_server(state.pool.servers()[acquired->server()]);
      facts = state.tuning.meet(acquired->server(), complaint);
    }
    if (!complaint.empty()) state.notice(complaint);
    return facts;
  } catch (...) {  // no memory
    return nullptr;
  }
}

Outlook outlook_of(State& state, const Question& question, std::size_t server,
                   const ServerFacts& facts) noexcept {
  const policy::Work& work = question.work;
  Outlook found;
  found.correction = correction_of(question.record, work.flop);
  policy::Remote remote{.link = facts.link,
                        .flop_per_s = device_rate(question.record, work, facts),
                        .correction = found.correction,
                        .bytes_there = 0,
                        .waiting_s = facts.waiting_s(now_ns())};
  found.now = found.again = policy::predict(work, remote);
  policy::Forecast& forecast = found.forecast;
  forecast.here_s = here_of(question.record, work);
  if (work.may_stay && state.config.resident_bytes != 0) {
    remote.bytes_there = work.bytes_to;
    found.again = policy::predict(work, remote);
    // Only where it may matter: the look takes a connection for a moment.
    const bool matters =
        found.now.whole_s > forecast.here_s && found.again.whole_s < forecast.here_s;
    if (matters && question.routine != nullptr) {
      remote.bytes_there = bytes_there(state, server, *question.routine, question.arguments);
      if (remote.bytes_there > 0) found.now = policy::predict(work, remote);
    }
  }
  forecast.shape = work.shape;
  forecast.operands = work.operands;
  forecast.there_s = found.now.whole_s;
  forecast.there_again_s = found.again.whole_s;
  forecast.waiting_s = remote.waiting_s;
  forecast.guessed = question.record.remote.rate(work.flop / work.calls) <= 0;
  forecast.margin = facts.profile.exists() ? kMarginOfProfile : kMargin;
  return found;
}

policy::Verdict choose(State& state, const Question& question) noexcept {
  acquaint(state, question.record, question.name, question.original, nullptr);
  const double here_s = here_of(question.record, question.work);
  policy::Verdict unknown;
  unknown.choice = here_s > 0 ? Choice::local : Choice::learn_local;
  if (!(here_s > 0)) return unknown;
  const auto server = state.pool.preferred();
  if (!server) return unknown;
  const ServerFacts* facts = known_or_met(state, *server, here_s);
  if (facts == nullptr) return unknown;
  acquaint(state, question.record, question.name, nullptr, facts);
  const Outlook outlook = outlook_of(state, question, *server, *facts);
  policy::History& history = question.record.history;
  return question.happens ? history.decide(outlook.forecast) : history.expect(outlook.forecast);
}

double choose_share(State& state, const Question& question, const policy::Verdict& alone) noexcept {
  if (state.config.share) return *state.config.share;
  if (alone.tried || !alone.here_seen || !alone.there_seen) return 0;
  const double better_s = std::min(alone.here_s, alone.there_s);
  if (better_s < kWorthSharingS) return 0;
  // so that both end together, if parts take their share of the whole
  const double part = alone.here_s / (alone.here_s + alone.there_s);
  const double share = static_cast<double>(static_cast<int>(part * kShares + 0.5)) / kShares;
  if (share < kLeastShare || share > 1 - kLeastShare) return 0;
  const double slower_s = std::max(alone.there_s * share, alone.here_s * (1 - share));
  policy::Forecast forecast;
  forecast.shape = question.work.shape;
  forecast.operands = question.work.operands;
  forecast.here_s = better_s;
  forecast.there_s = forecast.there_again_s = kSharingLoss * slower_s;
  forecast.margin = kMarginOfProfile;
  const policy::Verdict verdict = question.record.sharing.decide(forecast);
  return verdict.choice == Choice::remote ? share : 0;
}

void learn_share(RoutineRecord& record, const policy::Work& work, bool shared,
                 double seconds) noexcept {
  (void)record.sharing.ran(work.shape, shared ? Choice::remote : Choice::local, seconds, 0);
}

}  // namespace ob::offload
