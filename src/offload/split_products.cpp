#include "offload/split_products.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "algorithms/tiles/products_split.hpp"
#include "base/quiet_thread.hpp"
#include "offload/accuracy.hpp"
#include "offload/attempts.hpp"
#include "offload/clock.hpp"
#include "offload/connection_record.hpp"
#include "offload/device_model.hpp"
#include "offload/device_shares.hpp"
#include "offload/one_device.hpp"
#include "offload/work.hpp"

namespace ob::offload {
namespace {

using algorithms::CallPart;
using algorithms::CommitGate;

// A smaller call ends before another thread has begun.
constexpr double kWorthSplitting = 1e7;  // flop

// A part and the device that it is on.
class PartRun {
 public:
  PartRun(const Execution& execution, const Descriptor& routine, const CallPart& part,
          client::AcquiredDevice& acquired, CommitGate& gate)
      : execution_(execution),
        call_{routine, part.arguments.items},
        diagonal_(part.diagonal),
        acquired_(&acquired),
        gate_(gate) {}

  void run() noexcept {
    try {
      for (int i = 0; i < kMostAttempts; ++i) {
        timings_ = {};
        status_ = attempt();
        if (status_.ok() || status_.code() == Code::declined || !may_try_again()) break;
      }
    } catch (...) {  // no host memory; answers may still be under way
      if (acquired_ != nullptr) acquired_->device().abandon();
      status_ = Status(Code::out_of_memory, {});
    }
    if (!status_.ok()) gate_.abort();
  }

  const Status& status() const { return status_; }
  const algorithms::CallTimings& timings() const { return timings_; }

 private:
  Status attempt() {
    OB_RETURN_IF_ERROR(set_accuracy(*acquired_, execution_.accuracy).status());
    return run_on_device(execution_, *acquired_, call_, timings_, {&gate_, diagonal_});
  }

  // True if another attempt may help. It may need another device, which is acquired here.
  bool may_try_again() {
    client::RemoteDevice& device = acquired_->device();
    if (status_.code() == Code::out_of_memory) {
      return device.has_cached_buffers() && device.drop_cached_buffers().ok();
    }
    if (!device.broken()) return false;
    execution_.connections.report_failure(*acquired_);
    acquired_ = nullptr;  // it may be in other_, and acquire() may throw
    other_.reset();
    auto other = execution_.connections.acquire();
    if (!other.ok()) return false;
    acquired_ = &other_.emplace(std::move(other).value());
    return true;
  }

  const Execution& execution_;
  const RoutineCall call_;
  const algorithms::Range diagonal_;
  client::AcquiredDevice* acquired_;             // nullptr: it failed, and there is no other
  std::optional<client::AcquiredDevice> other_;  // replaces the first device
  CommitGate& gate_;
  algorithms::CallTimings timings_;
  Status status_;
};

// The first failure that another part did not cause.
Status first_failure(const std::vector<PartRun>& runs) {
  Status first;
  for (const PartRun& run : runs) {
    if (run.status().ok()) continue;
    if (first.ok() || first.code() == Code::declined) first = run.status();
  }
  return first;
}

// Bytes and the devices' time are sums over the parts. The other times are the slowest part's.
algorithms::CallTimings timings_of_parts(const std::vector<PartRun>& runs) {
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

// Runs the parts, the first one on this thread. Empty if no thread could be started for a part.
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
    gate.abort();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  return started ? std::optional(first_failure(runs)) : std::nullopt;
}

std::vector<Candidate> candidates_of(const Execution& execution, Devices devices,
                                     const RoutineCall& call) {
  const auto models = models_of(execution, devices, call);
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    candidates.push_back(
        {models[i], devices[i]->server(), devices[i]->device().info().memory_bytes});
  }
  return candidates;
}

// Begins the trials of a shape. The number of devices that can be acquired now is their maximum.
void begin(DeviceTrials& trials, const Config& config, const RoutineCall& call,
           std::span<const Candidate> candidates) {
  std::vector<double> seconds;
  for (std::size_t count = 1; count <= candidates.size(); ++count) {
    seconds.push_back(predict_shares(call.routine, call.arguments, candidates.first(count)));
  }
  if (config.always_several) std::fill(seconds.begin(), seconds.end() - 1, HUGE_VAL);
  trials.begin(seconds, config.always_several ? seconds.size() : choose_number(seconds));
}

// Splits the call over all devices. Empty: see split_product().
std::optional<Status> run_split(const Execution& execution, Devices devices,
                                const RoutineCall& call, std::span<const double> weights,
                                algorithms::CallTimings& timings) {
  const std::vector<CallPart> parts = algorithms::split_call(call.routine, call.arguments, weights);
  if (parts.size() < 2) return std::nullopt;
  CommitGate gate(parts.size());
  std::vector<PartRun> runs;
  runs.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    runs.emplace_back(execution, call.routine, parts[i], *devices[i], gate);
  }
  const std::optional<Status> status = run_parts(runs, gate);
  if (!status) return std::nullopt;
  // If the first device's daemon failed another device, the first one must not wait for it again.
  if (!status->ok() && execution.connections.is_set_aside(devices[0]->server())) {
    devices[0]->device().abandon();
  }
  // Other devices failed for good. The first one may be able to do it all.
  if (!status->ok() && !devices[0]->device().broken()) return std::nullopt;
  if (status->ok()) timings = timings_of_parts(runs);
  return status;
}

DeviceTrials& trials_of(client::AcquiredDevice& acquired, const RoutineCall& call) {
  const std::uint64_t shape = work_of(call.routine, call.arguments).shape ^ call.routine.id;
  return ConnectionRecord::of(acquired).trials(shape);
}

}  // namespace

bool may_be_split(const Config& config, const RoutineCall& call) {
  if (config.devices < 2 || !algorithms::can_be_split(call.routine)) return false;
  return config.always_several || call.flops() >= kWorthSplitting;
}

std::optional<Status> split_product(const Execution& execution, client::AcquiredDevice& first,
                                    const RoutineCall& call, algorithms::CallTimings& timings) {
  DeviceTrials& trials = trials_of(first, call);
  const std::size_t wanted = trials.begun() ? trials.next() : execution.config.devices;
  if (wanted == 1) return std::nullopt;
  std::vector<client::AcquiredDevice> others =
      execution.connections.acquire_others(first, wanted - 1);
  if (others.empty()) return std::nullopt;
  std::vector<client::AcquiredDevice*> devices{&first};
  for (client::AcquiredDevice& other : others) devices.push_back(&other);
  const auto candidates = candidates_of(execution, devices, call);
  if (!trials.begun()) begin(trials, execution.config, call, candidates);
  // Some of the devices may not be available now.
  const std::size_t count = std::min(trials.next(), devices.size());
  if (count == 1) return std::nullopt;
  std::vector<double>& weights = trials.weights[count];
  if (weights.empty()) {
    weights = shares_of_all(call.routine, call.arguments, std::span(candidates).first(count));
  }
  const std::uint64_t began_ns = now_ns();
  const auto status = run_split(execution, Devices(devices).first(count), call, weights, timings);
  if (status && status->ok()) trials.took(count, seconds_since(began_ns));
  return status;
}

void record_run_alone(client::AcquiredDevice& acquired, const RoutineCall& call, double seconds) {
  trials_of(acquired, call).took(1, seconds);
}

}  // namespace ob::offload
