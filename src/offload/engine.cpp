#include "offload/engine.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "algorithms/fft/large.hpp"
#include "client/connection_cache.hpp"
#include "offload/attempts.hpp"
#include "offload/clock.hpp"
#include "offload/decide.hpp"
#include "offload/execution.hpp"
#include "offload/explain.hpp"
#include "offload/jobs.hpp"
#include "offload/journal.hpp"
#include "offload/observer.hpp"
#include "offload/own_daemon.hpp"
#include "offload/prefetcher.hpp"
#include "offload/private_results.hpp"
#include "offload/profiles.hpp"
#include "offload/residents.hpp"
#include "offload/routine_records.hpp"
#include "offload/sharing.hpp"
#include "offload/tuning.hpp"
#include "offload/verified.hpp"
#include "offload/work.hpp"

namespace ob::offload {
namespace {

using policy::Target;

// In mode auto smaller calls cannot gain: a remote call costs some 10 us at least, in which a core
// does about so many operations.
constexpr double kAutomaticGateFlop = 1e6;

// Nothing if it is that of another lease: of an `outboard run` further out.
std::string answer_of(const Config& config) {
  const std::size_t name = config.lease_answer.rfind('/') + 1;
  const bool is_its_own = config.lease_answer.compare(name, std::string::npos, config.lease) == 0;
  return is_its_own ? config.lease_answer : std::string();
}

client::ConnectionCache::Config connections_of(const Config& config) {
  client::ConnectionCache::Config wanted;
  wanted.servers = config.servers;
  if (config.servers.empty() && !config.lease.empty()) {
    wanted.lease = {.id = config.lease,
                    .manager = config.pool_url,
                    .answer = answer_of(config),
                    .devices = config.devices,
                    .rank = config.rank};
  }
  if (config.takes_lease()) {
    const double faster = 1e-9 * kClearlyLess * own_daemon_rate(config.own_kernels);
    wanted.lease = {.id = {},
                    .manager = config.pool_url,
                    .devices = config.devices,
                    .rank = {},
                    .least_gflops = config.pool_gflops.value_or(faster)};
    // In mode auto no call waits for the manager.
    if (config.mode == Mode::automatic) wanted.asking = client::Asking::never;
  }
  wanted.connection.streams = config.streams;
  wanted.key_folder = config.key_folder;
  wanted.plain = config.plain;
  // Mode trace makes no connection, and mode auto measures only links of devices that may gain.
  wanted.measure_links = config.mode == Mode::remote || config.learn;
  if (config.learn) wanted.how_measured = client::Thoroughness::thorough;
  return wanted;
}

bool is_sendable(RoutineRecords& records, RoutineRecord& record, const FftPlan& plan) noexcept {
  return points(plan) > 1 && plan.batch > 0 && records.may_leave(record);
}

}  // namespace

// The parts are in an order in which each uses only those before it. So the data of connections
// outlives the connections.
struct Engine::Parts {
  explicit Parts(Config given)
      : config(std::move(given)),
        journal(config),
        records(config, journal.report),
        connections(connections_of(config)),
        tuning(config, connections),
        residents(config, connections, journal.report, residency_support),
        connector(connections, tuning, journal, records.budget(), config.first_wait),
        decider(config, connections, tuning, connector, journal, residents, records.budget()),
        observer(journal, records, tuning, decider),
        attempts(connections, residents, journal, records, tuning, observer),
        prefetcher(connections, residents, tuning) {}

  // The memory of the device that would run the next call.
  std::uint64_t device_memory() const noexcept {
    const auto server = connections.preferred();
    const ServerFacts* facts = server ? tuning.server(*server) : nullptr;
    return facts != nullptr ? facts->memory_bytes : UINT64_MAX;
  }

  // The bytes that travel depend on the device's memory: a transform that is too large goes in
  // parts.
  policy::Work work_here(const FftPlan& plan) const noexcept {
    return work_of(plan_on_device(plan), device_memory());
  }

  Execution execution(RoutineRecord& record, Accuracy accuracy) noexcept {
    return {config,       connections,         residents, peer_rates,
            factor_plans, record.rates.remote, accuracy};
  }

  // True if the call runs locally, and nobody wants to know how long it takes.
  bool is_out_of_question(const RoutineRecord& record) const noexcept {
    return config.mode == Mode::automatic && record.never_gains.load(std::memory_order_relaxed) &&
           !journal.report.wanted() && !tuning.learns() && !journal.trace.wanted();
  }
  bool count(const LibraryCall& call, RoutineRecord& record) noexcept;
  bool may_share(const LibraryCall& call) const noexcept;
  void decide_by_history(const LibraryCall& call, RoutineRecord& record,
                         CallDecision& decision) noexcept;
  bool run_verified(const LibraryCall& call, const JobCall& job_call, DeviceJob& job) noexcept;
  policy::Decision decide_fft_once(const FftCall& call, FftMoment moment) noexcept;
  FftDecision remote_if_reachable(const RoutineRecord& record) noexcept;

  const Config config;
  Journal journal;
  RoutineRecords records;
  ResidencySupport residency_support;
  client::ConnectionCache connections;
  Tuning tuning;
  Residents residents;
  PeerRates peer_rates;
  FactorPlans factor_plans;
  Connector connector;
  Decider decider;
  Observer observer;
  Attempts attempts;
  Prefetcher prefetcher;
};

Engine::Engine(Config config) : parts_(std::make_unique<Parts>(std::move(config))) {
  if (!parts_->config.complaint.empty()) parts_->journal.notice(parts_->config.complaint);
}

Engine::~Engine() = default;

const Config& Engine::config() const noexcept { return parts_->config; }

double Engine::least_flop() const noexcept {
  const Config& config = parts_->config;
  constexpr double kAll = std::numeric_limits<double>::infinity();
  if (config.mode == Mode::off) return kAll;
  if (config.mode != Mode::automatic || parts_->journal.report.wanted()) return 0;
  return config.names_servers() ? kAutomaticGateFlop : kAll;
}

// Counts the call. True if it may leave the process.
bool Engine::Parts::count(const LibraryCall& call, RoutineRecord& record) noexcept {
  ReportRow* const row = records.row(record);
  const bool eligible = !call.routine.trivial(call.arguments) && records.may_leave(record);
  if (row != nullptr) add(row->calls, 1);
  if (row != nullptr && eligible) add(row->eligible, 1);
  return eligible;
}

// Strict mode does not share, because two libraries and parts with measured sizes change results.
bool Engine::Parts::may_share(const LibraryCall& call) const noexcept {
  const bool strict = call.accuracy.value_or(config.accuracy) == Accuracy::strict;
  return call.batch.empty() && call.routine.base == "gemm" && !config.verify && !strict;
}

// Decides in mode auto, by the knowledge about the routine, the library, the link and the device.
void Engine::Parts::decide_by_history(const LibraryCall& call, RoutineRecord& record,
                                      CallDecision& decision) noexcept {
  const bool alone = call.batch.empty();
  const policy::Decision found =
      decider.decide({.record = record,
                      .work = decision.work,
                      .library = call.library,
                      .accuracy = call.accuracy.value_or(config.accuracy),
                      .routine = alone ? &call.routine : nullptr,
                      .arguments = alone ? call.arguments : nullptr});
  decision.remote = found.target == Target::remote;
  decision.trial = found.state == policy::State::trial && alone && !config.verify;
  if (found.preparation != policy::Preparation::none && alone) {
    const Accuracy accuracy = call.accuracy.value_or(config.accuracy);
    prefetcher.start(execution(record, accuracy), {call.routine, call.arguments}, decision.work,
                     found.preparation);
  }
  if (may_share(call)) decision.share = choose_share(config, record, decision.work, found);
  decision.shared_at_ns = decision.share > 0 ? now_ns() : 0;
}

CallDecision Engine::decide(const LibraryCall& call) noexcept {
  Parts& parts = *parts_;
  const Config& config = parts.config;
  RoutineRecord& record = parts.records.of(call.routine);
  const std::size_t count = call.batch.empty() ? 1 : call.batch.size();
  CallDecision decision;
  decision.is_watched = !parts.is_out_of_question(record);
  if (!decision.is_watched) return decision;
  decision.work = work_of(call.routine, call.arguments, count, parts.device_memory());
  const bool eligible = parts.count(call, record);
  if (parts.tuning.learns()) {
    load_profile(parts.tuning, parts.journal, record, call.library, nullptr);
  }
  if (!eligible) return decision;
  if (config.mode == Mode::remote) {
    decision.remote = true;
    decision.share = parts.may_share(call) ? config.share.value_or(0) : 0;
  }
  // Vectors and matrix-vector products move as much as they compute: they never gain with data that
  // lies on the host.
  const bool may_gain = call.routine.level == 3 && config.mode == Mode::automatic &&
                        decision.work.flop >= kAutomaticGateFlop;
  if (may_gain && config.names_servers()) parts.decide_by_history(call, record, decision);
  return decision;
}

bool Engine::Parts::run_verified(const LibraryCall& call, const JobCall& job_call,
                                 DeviceJob& job) noexcept {
  if (!config.verify) return attempts.run(job_call, job);
  try {
    std::vector<const Argument*> all;
    for (const CallArguments& one : call.batch) all.push_back(one.items);
    if (call.batch.empty()) all.push_back(call.arguments);
    VerifiedCalls verified(job, records.row(job_call.record), call.routine, all);
    return attempts.run(job_call, verified);
  } catch (...) {  // no memory: the call runs locally
    return false;
  }
}

bool Engine::run(const LibraryCall& call, const CallDecision& decision) noexcept {
  RoutineRecord& record = parts_->records.of(call.routine);
  const Accuracy accuracy = call.accuracy.value_or(parts_->config.accuracy);
  const JobCall job_call{record, decision.work, accuracy};
  if (!call.batch.empty()) {
    BatchJob job(call.routine, call.batch);
    return parts_->run_verified(call, job_call, job);
  }
  const Execution execution = parts_->execution(record, accuracy);
  CallJob job(execution, {call.routine, call.arguments});
  return parts_->run_verified(call, job_call, job);
}

void Engine::rehearse(const LibraryCall& call, const CallDecision& decision) noexcept {
  try {
    const PrivateResults results(call.routine, call.arguments);
    if (!results.known()) return;
    RoutineRecord& record = parts_->records.of(call.routine);
    const Accuracy accuracy = call.accuracy.value_or(parts_->config.accuracy);
    const Execution execution = parts_->execution(record, accuracy);
    CallJob job(execution, {call.routine, results.arguments()});
    (void)parts_->attempts.run({record, decision.work, accuracy, true}, job);
  } catch (...) {  // no memory: no trial
  }
}

// The part counts as the call that left.
bool Engine::run_part(const LibraryCall& part) noexcept {
  RoutineRecord& record = parts_->records.of(part.routine);
  const Accuracy accuracy = part.accuracy.value_or(parts_->config.accuracy);
  const Execution execution = parts_->execution(record, accuracy);
  CallJob job(execution, {part.routine, part.arguments});
  const policy::Work work = work_of(part.routine, part.arguments);
  return parts_->attempts.run({record, work, accuracy}, job);
}

void Engine::count_shared(const Descriptor& routine, const CallDecision& decision) noexcept {
  observe_share(parts_->records.of(routine), decision.work, true,
                seconds_since(decision.shared_at_ns));
}

void Engine::count_local(const Descriptor& routine, const CallDecision& decision,
                         std::uint64_t started_ns) noexcept {
  parts_->observer.local_run(parts_->records.of(routine), decision.work, started_ns);
}

policy::Decision Engine::Parts::decide_fft_once(const FftCall& call, FftMoment moment) noexcept {
  const policy::Work work = work_here(call.transform.plan);
  return decider.decide({.record = records.of(call.transform.plan),
                         .work = work,
                         .library = call.library,
                         .accuracy = call.accuracy.value_or(config.accuracy),
                         .happens = moment == FftMoment::execute});
}

// A plan counts as leaving only if a server is there to take it.
FftDecision Engine::Parts::remote_if_reachable(const RoutineRecord& record) noexcept {
  try {
    const auto acquired = connections.acquire();
    if (acquired.ok()) return FftDecision::remote;
    journal.notice(acquired.status().message() + "; " + std::string(record.name) + " runs locally");
  } catch (...) {
  }
  return FftDecision::open;  // a server may be there at a later execution
}

FftDecision Engine::decide_fft(const FftCall& call, FftMoment moment) noexcept {
  Parts& parts = *parts_;
  RoutineRecord& record = parts.records.of(call.transform.plan);
  if (!is_sendable(parts.records, record, call.transform.plan)) return FftDecision::local;
  if (parts.config.mode == Mode::remote) return parts.remote_if_reachable(record);
  if (parts.config.mode != Mode::automatic || !parts.config.names_servers()) {
    return FftDecision::local;
  }
  if (flops(call.transform.plan) < kAutomaticGateFlop) return FftDecision::local;
  const auto server = parts.connections.preferred();
  const bool first = !server || parts.tuning.server(*server) == nullptr;
  policy::Decision decision = parts.decide_fft_once(call, moment);
  // The first decision may have made the first connection, which tells the device's memory.
  if (first && decision.target == Target::remote) decision = parts.decide_fft_once(call, moment);
  if (parts.is_out_of_question(record)) return FftDecision::local;
  if (decision.target == Target::remote) return FftDecision::likely;
  const bool is_trial = decision.state == policy::State::trial && !parts.config.verify;
  return is_trial ? FftDecision::trial : FftDecision::open;
}

bool Engine::plan_fft(const FftTransform& transform) noexcept {
  try {
    auto acquired = parts_->connections.acquire();
    const FftPlan plan = plan_on_device(transform.plan);
    // The parts of a transform that does not fit have plans of their own.
    if (!acquired.ok() || !algorithms::fits(acquired->device(), plan)) return false;
    if (!acquired->device().plan_for(plan).ok()) return false;
    return acquired->device().flush().ok();
  } catch (...) {
    return false;
  }
}

bool Engine::run_fft(const FftCall& call, const FftArrays& arrays) noexcept {
  Parts& parts = *parts_;
  const FftTransform& transform = call.transform;
  RoutineRecord& record = parts.records.of(transform.plan);
  if (!is_sendable(parts.records, record, transform.plan)) return false;
  ReportRow* const row = parts.records.row(record);
  FftJob job(parts.residents, transform, arrays);
  VerifiedFft verified(job, record.name, row, transform, arrays);
  DeviceJob& run = parts.config.verify ? static_cast<DeviceJob&>(verified) : job;
  const policy::Work work = parts.work_here(transform.plan);
  const Accuracy accuracy = call.accuracy.value_or(parts.config.accuracy);
  if (!parts.attempts.run({record, work, accuracy}, run)) return false;
  if (row != nullptr) {  // a failed run is counted by its local run
    add(row->calls, 1);
    add(row->eligible, 1);
  }
  return true;
}

void Engine::rehearse_fft(const FftCall& call, const FftArrays& arrays) noexcept {
  Parts& parts = *parts_;
  try {
    const PrivateOutput output(call.transform, arrays);
    if (!output.known()) return;
    RoutineRecord& record = parts.records.of(call.transform.plan);
    FftJob job(parts.residents, output.transform(), output.arrays());
    const policy::Work work = parts.work_here(call.transform.plan);
    const Accuracy accuracy = call.accuracy.value_or(parts.config.accuracy);
    (void)parts.attempts.run({record, work, accuracy, true}, job);
  } catch (...) {  // no memory: no trial
  }
}

void Engine::begin_local_fft(const FftCall& call) noexcept {
  Parts& parts = *parts_;
  const FftPlan& plan = call.transform.plan;
  RoutineRecord& record = parts.records.of(plan);
  if (ReportRow* const row = parts.records.row(record)) {
    add(row->calls, 1);
    add(row->eligible, is_sendable(parts.records, record, plan) ? 1 : 0);
  }
  if (parts.tuning.learns()) {
    load_profile(parts.tuning, parts.journal, record, call.library, nullptr);
  }
}

void Engine::count_local_fft(const FftTransform& transform, std::uint64_t started_ns) noexcept {
  parts_->observer.local_run(parts_->records.of(transform.plan), parts_->work_here(transform.plan),
                             started_ns);
}

Result<std::string> Engine::explain(std::string_view routine, std::string_view sizes,
                                    const void* library) {
  Parts& parts = *parts_;
  const AskedCall call = read_asked_call(parts.records, routine, sizes);
  if (!call.wrong.empty()) return Status(Code::invalid_argument, call.wrong);
  const ExplainSources sources{parts.connections, parts.tuning, parts.journal, parts.connector,
                               parts.decider};
  return offload::explain(sources, call, library);
}

void Engine::stop_connecting() noexcept {
  parts_->prefetcher.close();
  parts_->connector.close();
  try {
    parts_->connections.give_lease_back();
  } catch (...) {  // no memory: the lease ends by itself
  }
}

void Engine::close() noexcept {
  parts_->prefetcher.close();
  parts_->connector.close();
  parts_->journal.report.print();
  save_profiles(parts_->tuning, parts_->journal, parts_->records);
}

void Engine::close_inherited(Engine* inherited) noexcept {
  client::close_inherited_connections();
  if (inherited != nullptr) inherited->parts_->residency_support.pages.close_inherited();
}

}  // namespace ob::offload
