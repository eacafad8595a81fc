#include "offload/connector.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/quiet_thread.hpp"
#include "offload/clock.hpp"
#include "policy/history.hpp"

namespace ob::offload {
namespace {

// A link that could not be measured so often, for lack of memory on the device, stays unknown.
constexpr std::size_t kMostMeasurements = 3;
// The end of the process waits so long for a thread in the middle of a handshake. A thread that
// waits for a dead server is abandoned.
constexpr std::chrono::milliseconds kMostAtEnd{200};

// Between measurements of the same link.
constexpr double kAgainFactor = 4;
constexpr double kLastAgainS = 8;
// A call that takes this long waits for the first connection as long as any call may.
constexpr double kWorthWholeWaitS = 0.2;
constexpr double kNever = std::numeric_limits<double>::infinity();

constexpr std::string_view kEndedBefore = "the program ended before the first answer of the server";

}  // namespace

// Short shapes keep the side of their first call, so they wait for the server as long as any call
// may. Longer ones can go out later, and a fifth of a second is worth the whole wait.
std::chrono::nanoseconds first_wait(std::chrono::nanoseconds whole, double local_s) noexcept {
  if (local_s < policy::History::kShortS) return whole;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::min(1.0, local_s / kWorthWholeWaitS) * whole);
}

Connector::~Connector() {
  if (thread_.joinable()) thread_.join();
}

ReachedServer Connector::connect(std::size_t server) noexcept {
  try {
    std::string complaint;
    ReachedServer reached{server, nullptr};
    if (connections_.is_reached(server)) reached.facts = tuning_.probe(server, complaint);
    if (reached.facts == nullptr) {
      const auto acquired = connections_.acquire(client::Asking::allowed);
      if (!acquired.ok()) {
        journal_.notice(acquired.status().message() + "; calls stay local");
        return reached;
      }
      journal_.report.set_server(connections_.server_name(acquired->server()));
      reached = {acquired->server(), tuning_.probe(acquired->server(), complaint)};
    }
    if (!complaint.empty()) journal_.notice(complaint);
    return reached;
  } catch (...) {  // no memory
    return {server, nullptr};
  }
}

void Connector::measure(ReachedServer& reached) noexcept {
  if (reached.facts == nullptr || reached.facts->link().known()) return;
  try {
    const std::size_t most = kMostMeasurements * connections_.server_count();
    if (measurements_.fetch_add(1, std::memory_order_relaxed) < most) {
      auto acquired = connections_.acquire();
      const bool is_same = acquired.ok() && acquired->server() == reached.server;
      if (is_same && connections_.measure(*acquired).ok()) tuning_.take_link(reached.server);
    }
  } catch (...) {  // no memory: not measured
  }
  if (!reached.facts->link().known()) reached.facts = nullptr;
}

ReachedServer Connector::reach(std::size_t server, Need need) noexcept {
  ReachedServer reached = connect(server);
  if (need == Need::link) measure(reached);
  return reached;
}

const ServerFacts* Connector::known(std::size_t server, Need need) const noexcept {
  if (!connections_.is_reached(server)) return nullptr;
  const ServerFacts* const facts = tuning_.server(server);
  return facts == nullptr || need == Need::facts || facts->link().known() ? facts : nullptr;
}

// @pre the caller holds the mutex, and no thread runs
bool Connector::start(std::size_t server, Need need) {
  if (first_start_ == Clock::time_point{}) first_start_ = Clock::now();
  return run([this, server, need] {
    ReachedServer reached = connect(server);
    // Only a library that is known to be slow gains from a device on its own processors, so their
    // link is measured when it is asked for.
    const bool may_gain = reached.facts != nullptr && !reached.facts->on_own_processors;
    if (may_gain || need == Need::link) measure(reached);
  });
}

// @pre the caller holds the mutex, and no thread runs
bool Connector::run(std::function<void()> work) {
  if (thread_.joinable()) thread_.join();
  running_ = true;
  thread_ = quiet_thread([this, work = std::move(work)] {
    work();
    const std::lock_guard lock(mutex_);
    running_ = false;
    ended_.notify_all();
  });
  running_ = thread_.joinable();
  return running_;
}

ReachedServer Connector::reach_in_background(std::size_t server, Need need,
                                             double local_s) noexcept {
  if (const ServerFacts* facts = known(server, need)) return {server, facts};
  const std::size_t most = kMostMeasurements * connections_.server_count();
  const bool hopeless = measurements_.load(std::memory_order_relaxed) >= most;
  if (known(server, Need::facts) != nullptr && hopeless) return {server, nullptr};
  const std::uint64_t began_ns = now_ns();
  try {
    std::unique_lock lock(mutex_);
    if (closed_) return {server, nullptr};
    if (!running_ && !start(server, need)) return {server, nullptr};
    const auto affordable = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(std::min(1.0, policy::LossBudget::kShare * local_s)));
    const auto deadline =
        std::max(first_start_ + first_wait(first_wait_, local_s), Clock::now() + affordable);
    ended_.wait_until(lock, deadline, [this] { return !running_; });
  } catch (...) {  // no memory: not reached
  }
  budget_.set_up(seconds_since(began_ns));
  const auto preferred = connections_.preferred();
  if (!preferred) return {server, nullptr};
  return {*preferred, known(*preferred, need)};
}

void Connector::measure_again(std::size_t server, double spent_s) noexcept {
  if (spent_s < again_after_s_.load(std::memory_order_relaxed)) return;
  try {
    const std::lock_guard lock(mutex_);
    double after_s = again_after_s_.load(std::memory_order_relaxed);
    if (running_ || closed_ || spent_s < after_s) return;
    after_s = after_s < kLastAgainS ? kAgainFactor * after_s : kNever;
    again_after_s_.store(after_s, std::memory_order_relaxed);
    (void)run([this, server] {
      try {
        auto acquired = connections_.borrow_idle(server);
        if (acquired && connections_.measure_again(*acquired).ok()) tuning_.take_link(server);
      } catch (...) {  // no memory: not measured
      }
    });
  } catch (...) {  // no memory for a thread
  }
}

void Connector::renew_lease() noexcept {
  if (!connections_.is_lease_old()) return;
  try {
    const std::lock_guard lock(mutex_);
    if (running_ || closed_) return;
    (void)run([this] {
      try {
        connections_.renew_lease();
      } catch (...) {  // no memory: the next call tries again
      }
    });
  } catch (...) {  // no memory for a thread
  }
}

void Connector::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return !running_; });
}

void Connector::close() noexcept {
  try {
    std::unique_lock lock(mutex_);
    closed_ = true;
    if (!running_) return;
    if (!ended_.wait_for(lock, kMostAtEnd, [this] { return !running_; })) {
      journal_.report.set_reason(kEndedBefore);
    }
  } catch (...) {  // the lock failed
  }
}

}  // namespace ob::offload
