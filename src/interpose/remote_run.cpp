#include "interpose/remote_run.hpp"

#include <algorithm>
#include <string>

namespace ob::interpose {
namespace {

// A routine that the daemon cannot do is not offered again for a while.
constexpr std::uint64_t kUnsupportedPauseNs = 30'000'000'000ULL;
// Local runs shorter than this are not worth making a first connection for.
constexpr double kWorthConnectingS = 1e-3;
constexpr int kAttempts = 3;
// Calls that stay local between two tries of a model that observation contradicts.
constexpr std::uint32_t kFirstRetry = 8;
constexpr std::uint32_t kRarestRetry = 1U << 16;

std::string describe(const client::DevicePool& pool, const client::Lease* lease,
                     const Status& status, std::string_view name) {
  std::string where = lease != nullptr ? pool.servers()[lease->server()] + ": " : std::string();
  // Most failures of a stream name the peer themselves.
  if (lease != nullptr &&
      status.message().find(pool.servers()[lease->server()]) != std::string::npos)
    where.clear();
  return where + status.message() + "; " + std::string(name) + " runs locally";
}

struct Attempt {
  bool sent = false;   ///< a daemon was given the job
  bool again = false;  ///< another attempt may help: another server, or more device memory
};

Status attempt(State& state, std::string_view name, RemoteJob& job, algorithms::Stages& stages,
               Attempt& outcome) {
  auto lease = state.pool.lease();
  if (!lease.ok()) {
    state.notice(describe(state.pool, nullptr, lease.status(), name));
    return lease.status();
  }
  state.report.set_server(state.pool.servers()[lease->server()]);
  outcome.sent = true;
  Status status;
  try {
    status = job.run(state, *lease, stages);
  } catch (...) {  // out of host memory, most likely; answers may still be under way
    lease->device().abandon();
    return Status(Code::out_of_memory, "no memory on this side");
  }
  if (status.ok() || status.code() == Code::declined) return status;
  if (status.code() == Code::out_of_memory) {
    outcome.again =
        lease->device().has_cached_buffers() && lease->device().drop_cached_buffers().ok();
  } else {
    // A connection that died while it was idle says little: the daemon may have been restarted.
    if (status.code() == Code::deadline_exceeded) lease->blame_server();
    outcome.again =
        lease->device().broken() && (!lease->blames_server() || state.pool.servers().size() > 1);
  }
  if (!outcome.again) state.notice(describe(state.pool, &*lease, status, name));
  return status;
}

// Connects, which measures the link. False if there is nobody.
bool measure(State& state) noexcept {
  try {
    const auto lease = state.pool.lease();
    if (lease.ok()) {
      state.report.set_server(state.pool.servers()[lease->server()]);
      return true;
    }
    state.notice(lease.status().message() + "; calls stay local");
  } catch (...) {  // no memory
  }
  return false;
}

// What remote calls really took outweighs the model: queueing, a link that got slower, a daemon
// that waits. But it may have been bad luck, so the model is tried again now and then, ever more
// rarely while it keeps being wrong.
bool overruled(RoutineRecord& record, const policy::Work& work, const policy::Decision& decision) {
  const double seen = record.whole.rate(work.flop);
  if (!(seen > 0) || work.flop / seen * policy::kMargin < decision.local_s) {
    record.retry_after.store(0, std::memory_order_relaxed);
    return false;
  }
  const std::uint32_t after =
      std::max(kFirstRetry, record.retry_after.load(std::memory_order_relaxed));
  if (record.overruled.fetch_add(1, std::memory_order_relaxed) + 1 < after) return true;
  record.overruled.store(0, std::memory_order_relaxed);
  record.retry_after.store(std::min(2 * after, kRarestRetry), std::memory_order_relaxed);
  return false;
}

}  // namespace

bool run_remotely(State& state, RoutineRecord& record, std::string_view name, double flops,
                  RemoteJob& job) noexcept {
  const std::uint64_t started = now_ns();
  ReportRow* row = state.row(record, name);
  bool lost = false;  // a daemon was given the job and did not do it
  try {
    Status status;
    for (int i = 0; i < kAttempts; ++i) {
      algorithms::Stages stages;
      Attempt outcome;
      status = attempt(state, name, job, stages, outcome);
      lost = lost || (outcome.sent && status.code() != Code::declined);
      if (status.ok()) {
        const std::uint64_t ended = now_ns();
        count_remote(row, stages, ended - started, flops);
        record.remote.observe(flops, static_cast<double>(stages.compute_ns) * 1e-9);
        record.whole.observe(flops, static_cast<double>(ended - started) * 1e-9);
        state.trace.span(name, "remote", started, ended, stages.bytes_to + stages.bytes_from);
        return true;
      }
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

policy::Choice choose(State& state, RoutineRecord& record, const policy::Work& work,
                      double device_share) noexcept {
  const double local = record.local.rate(work.flop);
  if (!(local > 0)) return policy::Choice::learn_local;
  const auto server = state.pool.preferred();
  if (work.flop / local < kWorthConnectingS || !server) return policy::Choice::local;
  if (!state.pool.link(*server).known() && !measure(state)) return policy::Choice::local;
  policy::Remote remote;
  remote.link = state.pool.link(*server);
  const double device = state.pool.device_info(*server).gflops_double * 1e9 * device_share;
  remote.flop_per_s = std::max(device, record.remote.rate(work.flop));
  const policy::Decision decision = policy::decide(work, local, remote);
  if (decision.choice != policy::Choice::remote) return decision.choice;
  return overruled(record, work, decision) ? policy::Choice::local : policy::Choice::remote;
}

void count_local(State& state, RoutineRecord& record, std::string_view name, double flops,
                 std::uint64_t started_ns) noexcept {
  const std::uint64_t ended = now_ns();
  record.local.observe(flops, static_cast<double>(ended - started_ns) * 1e-9);
  state.trace.span(name, "local", started_ns, ended);
  ReportRow* row = state.row(record, name);
  if (row == nullptr) return;
  add(row->local_calls, 1);
  add(row->local_ns, ended - started_ns);
  add(row->local_megaflop, static_cast<std::uint64_t>(flops * 1e-6));
}

}  // namespace ob::interpose
