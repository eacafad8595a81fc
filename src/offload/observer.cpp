#include "offload/observer.hpp"

#include <algorithm>
#include <string>

#include "offload/clock.hpp"
#include "offload/profiles.hpp"
#include "offload/sharing.hpp"

namespace ob::offload {
namespace {

void count_observation(ReportRow* row, const policy::Observation& observation) noexcept {
  if (row == nullptr || !observation.judged) return;
  add(row->decided, 1);
  if (observation.changed) add(row->changed, 1);
  if (!observation.mispredicted) return;
  add(row->mispredicted, 1);
  add(row->lost_ns, static_cast<std::uint64_t>(observation.lost_s * 1e9));
}

double seconds_waited(const algorithms::CallTimings& timings) noexcept {
  return static_cast<double>(timings.waited_ns) * 1e-9;
}

}  // namespace

// Compares the time of the call with the model's, for the bytes that travelled.
void Observer::learn(RoutineRecord& record, const policy::Work& work,
                     const algorithms::CallTimings& timings, double seconds,
                     std::size_t server) noexcept {
  std::string complaint;
  const ServerFacts* facts = tuning_.server(server);
  if (facts == nullptr) facts = tuning_.probe(server, complaint);
  if (facts == nullptr) return;
  const policy::Rate shipped = shipped_there(record, *facts, work.flop / work.calls);
  record.rates.remote.observe(work.flop / work.calls,
                              static_cast<double>(timings.compute_ns) * 1e-9 / work.calls, shipped);
  facts->waited(seconds_waited(timings), now_ns());
  if (!facts->link().known()) return;
  load_profile(tuning_, journal_, record, nullptr, facts);
  policy::Work sent = work;
  sent.bytes_to = static_cast<double>(timings.bytes_to + timings.bytes_kept);
  sent.bytes_from = static_cast<double>(timings.bytes_from);
  const policy::Rate rate = record.rates.remote.at(work.flop / work.calls, shipped);
  const policy::PredictedTime found =
      policy::predict(sent, {.link = facts->link(),
                             .flop_per_s = rate.flop_per_s,
                             .bytes_on_device = static_cast<double>(timings.bytes_kept),
                             .fresh_bytes = facts->fresh_bytes(work)});
  facts->used(work);
  if (!(found.whole_s > 0)) return;
  const double own_s = std::max(seconds - seconds_waited(timings), 0.0);
  record.rates.whole.observe(work.flop, own_s, policy::predicted_rate(work, found.whole_s, 1));
}

void Observer::note_loss() noexcept {
  const policy::LossBudget& budget = records_.budget();
  journal_.report.set_loss(budget.spent_s(), budget.lost_s());
}

void Observer::remote_run(RoutineRecord& record, const policy::Work& work,
                          const algorithms::CallTimings& timings, const RemoteSpan& span) noexcept {
  const double seconds = static_cast<double>(span.ended_ns - span.connected_ns) * 1e-9;
  ReportRow* const row = records_.row(record);
  count_remote(row, timings, span.ended_ns - span.asked_ns, work.flop);
  const policy::Observation observation =
      record.history.observe(work.shape, policy::Target::remote, seconds, seconds_waited(timings));
  count_observation(row, observation);
  learn(record, work, timings, seconds, span.server);
  note_loss();
  observe_share(record, work, false, seconds);
  journal_.trace.span(record.name, "remote", span.asked_ns, span.ended_ns,
                      {{"bytes", timings.bytes_to + timings.bytes_from}});
}

void Observer::trial_run(RoutineRecord& record, const policy::Work& work,
                         const algorithms::CallTimings& timings, const RemoteSpan& span) noexcept {
  const double seconds = static_cast<double>(span.ended_ns - span.connected_ns) * 1e-9;
  if (ReportRow* const row = records_.row(record)) add(row->tried, 1);
  record.history.observe_trial(work.shape, seconds, seconds_waited(timings));
  learn(record, work, timings, seconds, span.server);
  journal_.trace.span(record.name, "trial", span.asked_ns, span.ended_ns,
                      {{"bytes", timings.bytes_to + timings.bytes_from}});
}

void Observer::local_run(RoutineRecord& record, const policy::Work& work,
                         std::uint64_t started_ns) noexcept {
  const std::uint64_t ended_ns = now_ns();
  const std::uint64_t took_ns = ended_ns - started_ns;
  const double seconds = static_cast<double>(took_ns) * 1e-9;
  record.rates.local.observe(work.flop / work.calls, seconds / work.calls,
                             shipped_here(record, work.flop / work.calls));
  decider_.add_local_run(took_ns);
  journal_.trace.span(record.name, "local", started_ns, ended_ns, {{"bytes", 0}});
  ReportRow* const row = records_.row(record);
  count_observation(row, record.history.observe(work.shape, policy::Target::local, seconds, 0));
  note_loss();
  observe_share(record, work, false, seconds);
  if (row == nullptr) return;
  add(row->local_calls, 1);
  add(row->local_ns, took_ns);
  add(row->local_megaflop, static_cast<std::uint64_t>(work.flop * 1e-6));
}

}  // namespace ob::offload
