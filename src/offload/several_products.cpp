#include "offload/several_products.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "algorithms/factor/factor_call.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "base/quiet_thread.hpp"
#include "offload/accuracy.hpp"
#include "offload/device_shares.hpp"
#include "offload/one_device.hpp"
#include "offload/residents.hpp"
#include "offload/several_factors.hpp"

namespace ob::offload {
namespace {

using algorithms::CallPart;
using algorithms::CommitGate;

// Less is over before another thread has begun.
constexpr double kWorthAsking = 1e7;  // flop
// A part that failed runs again: on a new connection, on another device.
constexpr int kAttempts = 3;

// A part and the device that it is on.
class PartRun {
 public:
  PartRun(State& state, const Descriptor& routine, const CallPart& part,
          client::AcquiredDevice& acquired, CommitGate& gate)
      : state_(state),
        routine_(routine),
        part_(part),
        acquired_(&acquired),
        gate_(gate),
        accuracy_(accuracy_now(state.config)) {}

  void run() noexcept {
    try {
      for (int i = 0; i < kAttempts; ++i) {
        timings_ = {};
        status_ = attempt();
        if (status_.ok() || status_.code() == Code::declined || !again()) break;
      }
    } catch (...) {  // no memory on this side; answers may still be under way
      acquired_->device().abandon();
      status_ = Status(Code::out_of_memory, {});
    }
    if (!status_.ok()) gate_.give_up();
  }

  const Status& status() const { return status_; }
  const algorithms::CallTimings& timings() const { return timings_; }

 private:
  Status attempt() {
    OB_RETURN_IF_ERROR(demand(*acquired_, accuracy_).status());
    return offload(state_, *acquired_, routine_, part_.arguments.items, timings_,
                   {&gate_, part_.diagonal});
  }

  // True if another attempt may help.
  bool again() {
    client::RemoteDevice& device = acquired_->device();
    if (status_.code() == Code::out_of_memory) {
      return device.has_cached_buffers() && device.drop_cached_buffers().ok();
    }
    if (!device.broken()) return false;
    if (status_.code() == Code::deadline_exceeded) acquired_->count_against_server();
    state_.pool.report_failure(*acquired_);
    other_.reset();
    auto other = state_.pool.acquire();
    if (!other.ok()) return false;
    acquired_ = &other_.emplace(std::move(other).value());
    return true;
  }

  State& state_;
  const Descriptor& routine_;
  const CallPart& part_;
  client::AcquiredDevice* acquired_;
  std::optional<client::AcquiredDevice> other_;  // in place of the first one
  CommitGate& gate_;
  const Accuracy accuracy_;  // of the thread that makes the call
  algorithms::CallTimings timings_;
  Status status_;
};

// The first failure that is not another part's.
Status outcome_of(const std::vector<PartRun>& runs) {
  Status first;
  for (const PartRun& run : runs) {
    if (run.status().ok()) continue;
    if (first.ok() || first.code() == Code::declined) first = run.status();
  }
  return first;
}

// Bytes and the devices' time are those of all parts; the rest is the slowest one's.
algorithms::CallTimings together(const std::vector<PartRun>& runs) {
  algorithms::CallTimings all;
  for (const PartRun& run : runs) {
    const algorithms::CallTimings& one = run.timings();
    all.bytes_to += one.bytes_to;
    all.bytes_from += one.bytes_from;
    all.bytes_kept += one.bytes_kept;
    all.compute_ns += one.compute_ns;
    all.to_server_ns = std::max(all.to_server_ns, one.to_server_ns);
    all.plan_ns = std::max(all.plan_ns, one.plan_ns);
    all.waited_ns = std::max(all.waited_ns, one.waited_ns);
    all.from_server_ns = std::max(all.from_server_ns, one.from_server_ns);
  }
  all.more_devices = runs.size() - 1;
  return all;
}

// Runs the parts, the first one on this thread. Empty if there are too many threads.
std::optional<Status> run_parts(std::vector<PartRun>& runs, CommitGate& gate) {
  std::vector<std::thread> threads;
  threads.reserve(runs.size());
  bool started = true;
  for (std::size_t i = 1; started && i < runs.size(); ++i) {
    threads.push_back(quiet_thread([&run = runs[i]] { run.run(); }));
    started = threads.back().joinable();
  }
  if (started) {
    runs[0].run();
  } else {
    gate.give_up();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  return started ? std::optional(outcome_of(runs)) : std::nullopt;
}

std::vector<Candidate> candidates_of(State& state,
                                     std::span<client::AcquiredDevice* const> acquired_devices,
                                     const Descriptor& routine, const Argument* arguments) {
  std::vector<Candidate> candidates;
  for (const client::AcquiredDevice* acquired : acquired_devices) {
    candidates.push_back({model_of(state, *acquired, routine, arguments), acquired->server(),
                          acquired->device().info().memory_bytes});
  }
  // Rates that were seen are those of all devices together: what tells them apart is what they say.
  double told = 0;
  for (const client::AcquiredDevice* acquired : acquired_devices)
    told += acquired->device().info().gflops_double;
  told /= static_cast<double>(acquired_devices.size());
  for (std::size_t i = 0; told > 0 && i < acquired_devices.size(); ++i) {
    const double own = acquired_devices[i]->device().info().gflops_double;
    const bool is_seen = state.routine(routine).remote.rate(routine.flops(arguments)) > 0;
    if (is_seen) candidates[i].model.flop_per_s *= own / told;
  }
  return candidates;
}

// How many there may be is said by what could be acquired when the shape was first seen.
void begin(DeviceTrials& trials, const Config& config, const Descriptor& routine,
           const Argument* arguments, std::span<const Candidate> candidates) {
  std::vector<double> seconds;
  for (std::size_t count = 1; count <= candidates.size(); ++count) {
    seconds.push_back(predict_shares(routine, arguments, candidates.first(count)));
  }
  if (config.always_several) std::fill(seconds.begin(), seconds.end() - 1, HUGE_VAL);
  trials.begin(seconds, config.always_several ? seconds.size() : choose_number(seconds));
}

// Splits the call over all of them. Empty: see run_on_several().
std::optional<Status> run_split(State& state,
                                std::span<client::AcquiredDevice* const> acquired_devices,
                                const Descriptor& routine, const Argument* arguments,
                                std::span<const double> weights, algorithms::CallTimings& timings) {
  const std::vector<CallPart> parts = algorithms::split_call(routine, arguments, weights);
  if (parts.size() < 2) return std::nullopt;
  CommitGate gate(parts.size());
  std::vector<PartRun> runs;
  runs.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    runs.emplace_back(state, routine, parts[i], *acquired_devices[i], gate);
  }
  const std::optional<Status> status = run_parts(runs, gate);
  if (!status) return std::nullopt;
  // The others failed for good: perhaps this one can do it all.
  if (!status->ok() && !acquired_devices[0]->device().broken()) return std::nullopt;
  if (status->ok()) timings = together(runs);
  return status;
}

bool may_be_split(const Config& config, const Descriptor& routine, const Argument* arguments) {
  if (config.devices < 2 || !algorithms::can_be_split(routine)) return false;
  return config.always_several || routine.flops(arguments) >= kWorthAsking;
}

double seconds_since(std::uint64_t began_ns) {
  return static_cast<double>(now_ns() - began_ns) * 1e-9;
}

}  // namespace

std::optional<Status> run_on_several(State& state, client::AcquiredDevice& first,
                                     const Descriptor& routine, const Argument* arguments,
                                     algorithms::CallTimings& timings) {
  if (algorithms::can_be_factored(routine)) {
    return factor_on_several(state, first, routine, arguments, timings);
  }
  // Which devices take part, and with how much, changes sums.
  if (accuracy_now(state.config) == Accuracy::strict) return std::nullopt;
  if (!may_be_split(state.config, routine, arguments)) return std::nullopt;
  DeviceTrials& trials = trials_kept(first, routine, arguments);
  const std::size_t wanted = trials.begun() ? trials.next() : state.config.devices;
  if (wanted == 1) return std::nullopt;
  std::vector<client::AcquiredDevice> others = state.pool.acquire_others(first, wanted - 1);
  if (others.empty()) return std::nullopt;
  std::vector<client::AcquiredDevice*> acquired_devices{&first};
  for (client::AcquiredDevice& other : others) acquired_devices.push_back(&other);
  const auto candidates = candidates_of(state, acquired_devices, routine, arguments);
  if (!trials.begun()) begin(trials, state.config, routine, arguments, candidates);
  // Some may be missing today.
  const std::size_t count = std::min(trials.next(), acquired_devices.size());
  if (count == 1) return std::nullopt;
  std::vector<double>& weights = trials.weights[count];
  const std::span<client::AcquiredDevice* const> used = std::span(acquired_devices).first(count);
  if (weights.empty()) {
    weights = shares_of_all(routine, arguments, std::span(candidates).first(count));
  }
  const std::uint64_t began_ns = now_ns();
  const auto status = run_split(state, used, routine, arguments, weights, timings);
  if (status && status->ok()) trials.took(count, seconds_since(began_ns));
  return status;
}

Status run_on_one(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
                  const Argument* arguments, algorithms::CallTimings& timings) {
  const std::uint64_t began_ns = now_ns();
  Status status = offload(state, acquired, routine, arguments, timings);
  if (status.code() == Code::out_of_memory && algorithms::can_be_factored(routine) &&
      !acquired.device().broken()) {
    return factor_with_little(state, acquired, routine, arguments, timings);
  }
  if (!status.ok() || !may_be_split(state.config, routine, arguments)) return status;
  trials_kept(acquired, routine, arguments).took(1, seconds_since(began_ns));
  return status;
}

}  // namespace ob::offload
