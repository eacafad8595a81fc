#include "interpose/choice.hpp"

#include <algorithm>
#include <string>

#include "interpose/learning.hpp"
#include "interpose/resident.hpp"

namespace ob::interpose {
namespace {

using policy::Choice;

// Local runs shorter than this are not worth making a first connection for, unless many of them
// took long together.
constexpr double kWorthConnectingS = 1e-3;
constexpr std::uint64_t kWorthConnectingNs = 100'000'000;
// What the model must promise to be believed unseen: covers noise and what it leaves out.
constexpr double kMargin = 1.2;
constexpr double kMarginOfProfile = 1.05;
// Further off than this the model has other reasons than the routine's.
constexpr double kMostCorrection = 4;

double here_of(const RoutineRecord& record, const policy::Work& work) noexcept {
  const double rate = record.local.rate(work.flop / work.calls);
  return rate > 0 ? work.flop / rate : 0;
}

const ServerFacts* known_or_met(State& state, std::size_t server, double here_s) noexcept {
  if (const ServerFacts* known = state.tuning.server(server)) return known;
  const bool worth = here_s >= kWorthConnectingS ||
                     state.short_runs_ns.load(std::memory_order_relaxed) >= kWorthConnectingNs;
  return worth ? meet(state, server) : nullptr;
}

}  // namespace

double correction_of(const RoutineRecord& record, double flop) noexcept {
  const double predicted = record.predicted.at(flop);
  const double seen = record.seen.at(flop);
  if (!(predicted > 0) || !(seen > 0)) return 1;
  return std::clamp(seen / predicted, 1 / kMostCorrection, kMostCorrection);
}

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
      const auto lease = state.pool.lease();
      if (!lease.ok()) {
        state.notice(lease.status().message() + "; calls stay local");
        return nullptr;
      }
      state.report.set_server(state.pool.servers()[lease->server()]);
      facts = state.tuning.meet(lease->server(), complaint);
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
  if (work.may_stay && state.settings.resident_bytes != 0) {
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
  forecast.margin = facts.profile.exists() ? kMarginOfProfile : kMargin;
  return found;
}

Choice choose(State& state, const Question& question) noexcept {
  acquaint(state, question.record, question.name, question.original, nullptr);
  const double here_s = here_of(question.record, question.work);
  if (!(here_s > 0)) return Choice::learn_local;
  const auto server = state.pool.preferred();
  if (!server) return Choice::local;
  const ServerFacts* facts = known_or_met(state, *server, here_s);
  if (facts == nullptr) return Choice::local;
  acquaint(state, question.record, question.name, nullptr, facts);
  const Outlook outlook = outlook_of(state, question, *server, *facts);
  return question.record.history.decide(outlook.forecast).choice;
}

}  // namespace ob::interpose
