#include "daemon/pool/pool_agent.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "daemon/io/log.hpp"
#include "pool/random_name.hpp"
#include "wire/message.hpp"

namespace ob::daemon {
namespace {

using std::chrono::milliseconds;
using transport::Clock;

constexpr std::string_view kDaemons = "/v1/daemons/";
// The manager may delay the answer to a heartbeat so long. While there are sessions, their end is
// looked for each second. While one ends, the manager hears of it soon.
constexpr double kIdleWaitS = 2;
constexpr double kBusyWaitS = 1;
constexpr double kEndingWaitS = 0.05;
// The manager has so long to answer, beside the time that it may wait. Sessions whose time is over
// meanwhile are in the grace that begins after 4 s of silence.
constexpr std::chrono::duration<double> kAnswerTime{3};
// Between attempts; doubles. A manager that starts again is found within a second.
constexpr milliseconds kFirstPause{250};
constexpr milliseconds kLongestPause{2000};
// At least so long between two heartbeats, in a pool that changes all the time.
constexpr milliseconds kLeastPause{20};

// The versions of clients that can present a token.
std::vector<std::uint16_t> lease_versions() {
  std::vector<std::uint16_t> versions;
  for (std::uint16_t version = wire::kFirstLeaseVersion; version <= wire::kVersion; ++version) {
    versions.push_back(version);
  }
  return versions;
}

DeviceHealth::Config health_of(const PoolNode& node) {
  DeviceHealth::Config config{{}, node.self_test, node.self_test_interval};
  for (const pool::DeviceFacts& device : node.devices) config.devices.push_back(device.id);
  return config;
}

}  // namespace

PoolAgent::PoolAgent(Leases& leases, PoolNode node, std::vector<pool::ManagerAddress> managers,
                     std::shared_ptr<const transport::Security> security)
    : leases_(leases),
      node_(std::move(node)),
      health_(leases, health_of(node_)),
      instance_(pool::random_name()),
      path_(std::string(kDaemons) + pool::percent_encoded(node_.name)),
      link_(std::move(managers), std::move(security)),
      thread_([this] { run(); }) {}

PoolAgent::~PoolAgent() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    // Before the thread can see that: it then resumes the link, to deregister.
    link_.interrupt();
    changed_.notify_all();
  }
  thread_.join();
}

bool PoolAgent::pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

// Says the same only once in a row.
void PoolAgent::say(const Status& status) {
  if (status.message() == said_) return;
  said_ = status.message();
  log::warn("pool: " + said_);
}

void PoolAgent::run() {
  milliseconds rest{0};
  milliseconds next = kFirstPause;
  while (pause(rest)) {
    Status status;
    try {
      leases_.tick();
      status = registered_ ? beat() : register_daemon();
    } catch (const std::exception& error) {  // most likely out of memory
      status = Status(Code::internal, error.what());
    }
    if (status.ok()) {
      said_.clear();
      next = kFirstPause;
      rest = kLeastPause;
    } else {
      if (pause({})) say(status);
      rest = next;
      next = std::min(2 * next, kLongestPause);
    }
  }
  deregister();
}

Result<pool::HttpResponse> PoolAgent::ask(const char* method, const std::string& target,
                                          std::string body, Seconds wait, Exchanged& exchanged) {
  const auto time = std::chrono::duration_cast<Clock::duration>(wait + kAnswerTime);
  exchanged.sent_ms = pool::boot_ms();
  auto response = link_.ask(method, target, std::move(body), Clock::now() + time);
  exchanged.received_ms = pool::boot_ms();
  return response;
}

Status PoolAgent::refused(const pool::HttpResponse& response) {
  const pool::Problem problem = pool::problem_of(response);
  if (problem.name == "not-registered" || problem.name == "other-instance") registered_ = false;
  return {Code::denied, problem.detail};
}

Status PoolAgent::register_daemon() {
  pool::Registration about{.instance = instance_,
                           .devices = node_.devices,
                           .wire = lease_versions(),
                           .addresses = node_.addresses,
                           .machine = pool::machine_name(),
                           .labels = node_.labels};
  const LeaseReport seen = leases_.report();
  for (std::size_t i = 0; i < about.devices.size() && i < seen.devices.size(); ++i) {
    about.devices[i].epoch_seen = seen.devices[i].floor;
  }
  Exchanged exchanged;
  OB_ASSIGN_OR_RETURN(const auto response, ask("PUT", path_, pool::to_json(about), {}, exchanged));
  if (!response.ok()) return refused(response);
  OB_ASSIGN_OR_RETURN(const auto registered, pool::read_registered(response.body));
  OB_RETURN_IF_ERROR(leases_.take(registered, exchanged));
  note_broken(registered.state);
  registered_ = true;
  log::info("registered with the pool at " + link_.url() + " as " + node_.name);
  return {};
}

pool::Heartbeat PoolAgent::heartbeat(const LeaseReport& report) {
  pool::Heartbeat beat{instance_, ++seq_, std::max<std::int64_t>(report.rev, 0), {}, kIdleWaitS};
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const LeaseReport::Device& device = report.devices[i];
    pool::DeviceReport told{device.id, device.floor, {}, node_.memory_used(i), {}};
    for (const LeaseReport::Session& session : device.sessions) {
      told.sessions.push_back({session.epoch, session.busy});
      beat.wait_s = std::min(beat.wait_s, session.valid ? kBusyWaitS : kEndingWaitS);
    }
    for (const LeaseReport::LeaseUse& of : device.uses) told.uses.push_back({of.epoch, of.use});
    const DeviceHealth::Report health = health_.report(i);
    told.failed_sessions = health.failed_sessions;
    told.fatal = health.fatal;
    told.self_tests_ok = health.self_tests_ok;
    beat.devices.push_back(std::move(told));
  }
  if (leases_.wants_time()) beat.wait_s = 0;
  return beat;
}

Status PoolAgent::beat() {
  const LeaseReport report = leases_.report();
  const pool::Heartbeat beat = heartbeat(report);
  Exchanged exchanged;
  OB_ASSIGN_OR_RETURN(const auto response, ask("POST", path_ + "/heartbeat", pool::to_json(beat),
                                               Seconds(beat.wait_s), exchanged));
  if (!response.ok()) return refused(response);
  OB_ASSIGN_OR_RETURN(const auto state, pool::read_desired(response.body));
  leases_.forget_told(report);
  OB_RETURN_IF_ERROR(leases_.take(state, exchanged));
  note_broken(state);
  note_restart(state);
  return {};
}

// Nobody holds a device any more when the manager says so.
void PoolAgent::note_restart(const pool::DesiredState& state) {
  if (!state.restart || std::exchange(restarts_, true)) return;
  log::info("pool: the manager asks for a restart");
  node_.restart();
}

void PoolAgent::note_broken(const pool::DesiredState& state) {
  for (std::size_t i = 0; i < node_.devices.size(); ++i) {
    const std::string& id = node_.devices[i].id;
    const auto wanted = std::ranges::find(state.devices, id, &pool::DesiredDevice::id);
    if (wanted != state.devices.end()) health_.set_broken(i, wanted->broken);
  }
}

// Otherwise the manager would wait until the daemon counts as lost.
void PoolAgent::deregister() noexcept try {
  if (!registered_) return;
  link_.resume();
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(1));
  const auto response = link_.ask("DELETE", path_ + "?instance=" + instance_, {}, deadline);
  if (!response.ok()) log::info("pool: " + response.status().message());
} catch (const std::exception&) {  // no memory: the manager finds the daemon lost
}

}  // namespace ob::daemon
