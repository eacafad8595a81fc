#include "offload/attempts.hpp"

#include <algorithm>
#include <string>

#include "offload/accuracy.hpp"
#include "offload/decide.hpp"
#include "offload/profiles.hpp"
#include "offload/residents.hpp"

namespace ob::offload {
namespace {

// A routine that the daemon cannot do is not offered again for a while.
constexpr std::uint64_t kUnsupportedPauseNs = 30'000'000'000ULL;
constexpr int kAttempts = 3;

std::string describe(const client::ConnectionCache& pool, const client::AcquiredDevice* acquired,
                     const Status& status, std::string_view name) {
  std::string where =
      acquired != nullptr ? pool.servers()[acquired->server()] + ": " : std::string();
  // Most failures of a stream name the peer themselves.
  if (acquired != nullptr &&
      status.message().find(pool.servers()[acquired->server()]) != std::string::npos)
    where.clear();
  return where + status.message() + "; " + std::string(name) + " runs locally";
}

struct Attempt {
  bool sent = false;   ///< a daemon was given the job
  bool again = false;  ///< another attempt may help: another server, or more device memory
  std::size_t server = 0;
  std::uint64_t started_ns = 0;  ///< with the connection there
};

Status attempt(State& state, std::string_view name, RemoteJob& job,
               algorithms::CallTimings& timings, Attempt& outcome) {
  auto acquired = state.pool.acquire();
  if (!acquired.ok()) {
    state.notice(describe(state.pool, nullptr, acquired.status(), name));
    return acquired.status();
  }
  state.report.set_server(state.pool.servers()[acquired->server()]);
  outcome.sent = true;
  outcome.server = acquired->server();
  outcome.started_ns = now_ns();
  Status status;
  try {
    const Result<Accuracy> accuracy = demand(*acquired, accuracy_now(state.config));
    status = accuracy.ok() ? job.run(state, *acquired, timings) : accuracy.status();
    if (status.ok()) timings.accuracy = *accuracy;
  } catch (...) {  // out of host memory, most likely; answers may still be under way
    acquired->device().abandon();
    return Status(Code::out_of_memory, "no memory on this side");
  }
  if (status.ok() || status.code() == Code::declined) return status;
  // Somebody else has the accelerator's time: no failure, and no news to the program's user.
  if (status.code() == Code::busy) return status;
  if (status.code() == Code::out_of_memory) {
    outcome.again = release_kept(*acquired);
  } else {
    // A connection that died while it was idle says little: the daemon may have been restarted.
    if (status.code() == Code::deadline_exceeded) acquired->count_against_server();
    outcome.again = acquired->device().broken() &&
                    (!acquired->counts_against_server() || state.pool.servers().size() > 1);
  }
  if (!outcome.again) state.notice(describe(state.pool, &*acquired, status, name));
  return status;
}

// The daemon says how long it lets nobody compute while others wait (--longest-command), not how
// long they will: calls stay here until that has faded.
void wait_a_while(State& state, std::size_t server) noexcept {
  constexpr double kSeconds = 10;
  const ServerFacts* facts = state.tuning.server(server);
  if (facts != nullptr) facts->waited(kSeconds, now_ns());
}

void count_outcome(ReportRow* row, const policy::Outcome& outcome) noexcept {
  if (row == nullptr || !outcome.judged) return;
  add(row->decided, 1);
  if (outcome.tried) add(row->tried, 1);
  if (!outcome.mispredicted) return;
  add(row->mispredicted, 1);
  add(row->lost_ns, static_cast<std::uint64_t>(outcome.lost_s * 1e9));
}

// What the call took, against what the model says of what travelled.
void learn(State& state, RoutineRecord& record, std::string_view name, const policy::Work& work,
           const algorithms::CallTimings& timings, double seconds, const policy::Outcome& went,
           std::size_t server) {
  const double each = work.flop / work.calls;
  const double waited_s = static_cast<double>(timings.waited_ns) * 1e-9;
  record.remote.observe(each, static_cast<double>(timings.compute_ns) * 1e-9 / work.calls);
  std::string complaint;
  const ServerFacts* facts = state.tuning.server(server);
  if (facts == nullptr && state.tuning.learns()) facts = state.tuning.meet(server, complaint);
  if (facts == nullptr) return;
  facts->waited(waited_s, now_ns());
  if (went.first) return;  // says nothing of others
  seconds = std::max(seconds - waited_s, 0.0);
  acquaint(state, record, name, nullptr, facts);
  policy::Work sent = work;
  sent.bytes_to = static_cast<double>(timings.bytes_to + timings.bytes_kept);
  sent.bytes_from = static_cast<double>(timings.bytes_from);
  const policy::Prediction found =
      policy::predict(sent, {.link = facts->link,
                             .flop_per_s = device_rate(record, work, *facts),
                             .bytes_there = static_cast<double>(timings.bytes_kept)});
  if (!(found.whole_s > 0)) return;
  // The first call of a size touches memory and makes plans: what is much faster is the rule.
  const bool replaces = seconds < 0.5 * record.seen.in_bucket(work.flop);
  const double weight = replaces ? 1 : 0.3;
  record.predicted.blend(work.flop, found.whole_s, weight);
  record.seen.blend(work.flop, seconds, weight);
}

}  // namespace

bool run_remotely(State& state, RoutineRecord& record, std::string_view name,
                  const policy::Work& work, RemoteJob& job) noexcept {
  const std::uint64_t started = now_ns();
  ReportRow* row = state.row(record, name);
  bool lost = false;  // a daemon was given the job and did not do it
  try {
    Status status;
    for (int i = 0; i < kAttempts; ++i) {
      algorithms::CallTimings timings;
      Attempt outcome;
      status = attempt(state, name, job, timings, outcome);
      lost = lost || (outcome.sent && status.code() != Code::declined);
      if (status.ok()) {
        const std::uint64_t ended = now_ns();
        const double seconds = static_cast<double>(ended - outcome.started_ns) * 1e-9;
        count_remote(row, timings, ended - started, work.flop);
        const double waited_s = static_cast<double>(timings.waited_ns) * 1e-9;
        const policy::Outcome went =
            record.history.ran(work.shape, policy::Choice::remote, seconds, waited_s);
        count_outcome(row, went);
        learn(state, record, name, work, timings, seconds, went, outcome.server);
        learn_share(record, work, false, seconds);
        state.trace.span(name, "remote", started, ended, timings.bytes_to + timings.bytes_from);
        return true;
      }
      if (status.code() == Code::busy) wait_a_while(state, outcome.server);
      if (!outcome.again) break;
    }
    if (status.code() == Code::unsupported) {
      record.local_until_ns.store(now_ns() + kUnsupportedPauseNs, std::memory_order_relaxed);
    }
  } catch (...) {  // building a message ran out of memory: local it is
  }
  if (row != nullptr && lost) add(row->fell_back, 1);
  return false;
}

void count_local(State& state, RoutineRecord& record, std::string_view name,
                 const policy::Work& work, std::uint64_t started_ns) noexcept {
  const std::uint64_t ended = now_ns();
  const std::uint64_t took_ns = ended - started_ns;
  const double seconds = static_cast<double>(took_ns) * 1e-9;
  record.local.observe(work.flop / work.calls, seconds / work.calls);
  state.short_runs_ns.fetch_add(took_ns, std::memory_order_relaxed);
  state.trace.span(name, "local", started_ns, ended);
  ReportRow* row = state.row(record, name);
  count_outcome(row, record.history.ran(work.shape, policy::Choice::local, seconds, 0));
  learn_share(record, work, false, seconds);
  if (row == nullptr) return;
  add(row->local_calls, 1);
  add(row->local_ns, took_ns);
  add(row->local_megaflop, static_cast<std::uint64_t>(work.flop * 1e-6));
}

}  // namespace ob::offload
