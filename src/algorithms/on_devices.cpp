#include "algorithms/on_devices.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/exchange/host_exchange.hpp"
#include "algorithms/factor/call.hpp"
#include "algorithms/offload.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "algorithms/tiles/tiles.hpp"
#include "base/quiet_thread.hpp"

namespace ob::algorithms {
namespace {

// The widest block of a factorization: panels of wider ones delay the other devices.
constexpr std::uint64_t kWidestBlock = 256;

// Devices count memory in units, and round small buffers up.
std::uint64_t usable_bytes(const Device& device) {
  const std::uint64_t bytes = device.info().memory_bytes;
  return bytes - bytes / 8;
}

// The rates that the devices tell, or equal ones if one of them tells none.
std::vector<double> weights_of(std::span<Device* const> devices) {
  std::vector<double> weights;
  for (const Device* device : devices) weights.push_back(device->info().gflops_double);
  const bool known =
      std::all_of(weights.begin(), weights.end(), [](double rate) { return rate > 0; });
  if (!known) std::fill(weights.begin(), weights.end(), 1.0);
  return weights;
}

Status on_device(const Device& device, const Status& status) {
  if (status.ok() || status.code() == Code::declined) return status;
  return {status.code(), device.info().description + ": " + status.message()};
}

// A part of a product and its device.
class PartRun {
 public:
  PartRun(Device& device, const Descriptor& routine, const CallPart& part, CommitGate& gate)
      : device_(device), routine_(routine), part_(part), gate_(gate) {}

  void run() noexcept {
    try {
      status_ = on_device(device_, attempt());
    } catch (const std::bad_alloc&) {
      status_ = Status(Code::out_of_memory, {});
    } catch (...) {
      status_ = Status(Code::internal, {});
    }
    if (!status_.ok()) gate_.abort();
  }

  const Status& status() const { return status_; }

 private:
  // The queue waits for its commands at its end, so that none uses memory of a call that is over.
  class OwnQueue {
   public:
    OwnQueue(Device& device, QueueId queue) : device_(device), queue_(queue) {}
    ~OwnQueue() { (void)device_.destroy_queue(queue_); }
    OwnQueue(const OwnQueue&) = delete;
    OwnQueue& operator=(const OwnQueue&) = delete;

   private:
    Device& device_;
    const QueueId queue_;
  };

  Status attempt() {
    OB_ASSIGN_OR_RETURN(const QueueId queue, device_.create_queue());
    const OwnQueue end(device_, queue);
    CallTimings timings;
    const CallContext context{.device = device_,
                              .queue = queue,
                              .routine = routine_,
                              .arguments = part_.arguments.items,
                              .timings = timings,
                              .residency = nullptr,
                              .commits = &gate_};
    const std::uint64_t room = usable_bytes(device_);
    const double needed = bytes_of_all(routine_, part_.arguments.items);
    const bool at_once = room == 0 || needed <= static_cast<double>(room);
    if (at_once && part_.diagonal.count == 0) return offload_call(context);
    return offload_tiles(context, part_.diagonal, at_once ? room / 2 : room);
  }

  Device& device_;
  const Descriptor& routine_;
  const CallPart& part_;
  CommitGate& gate_;
  Status status_;
};

Status run_product(std::span<Device* const> devices, const Descriptor& routine,
                   const Argument* arguments) {
  const std::vector<CallPart> parts = split_call(routine, arguments, weights_of(devices));
  CommitGate gate(parts.size());
  std::vector<PartRun> runs;
  runs.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    runs.emplace_back(*devices[i], routine, parts[i], gate);
  }
  std::vector<std::thread> threads;
  threads.reserve(runs.size());
  bool started = true;
  for (std::size_t i = 1; started && i < runs.size(); ++i) {
    threads.push_back(quiet_thread([&run = runs[i]] { run.run(); }));
    started = threads.back().joinable();
  }
  if (started && !runs.empty()) {
    runs[0].run();
  } else {
    gate.abort();
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  if (!started) return {Code::unavailable, "no thread for a device (the system has no more)"};
  Status first;
  for (const PartRun& run : runs) {
    if (run.status().ok()) continue;
    if (first.ok() || first.code() == Code::declined) first = run.status();
  }
  return first;
}

Status run_factorization(std::span<Device* const> devices, const Descriptor& routine,
                         const Argument* arguments) {
  const FactorShape shape = factor_shape(routine, arguments);
  // at least one block for each device
  const auto used = devices.first(std::min<std::size_t>(devices.size(), shape.n));
  ExchangeModel model;
  std::uint64_t least_bytes = UINT64_MAX;
  for (const Device* device : used) {
    model.ranks.push_back({.memory_bytes = usable_bytes(*device)});
    if (usable_bytes(*device) > 0) least_bytes = std::min(least_bytes, usable_bytes(*device));
  }
  const std::uint64_t even =
      std::clamp<std::uint64_t>(shape.n / (2 * used.size()), 1, kWidestBlock);
  const FactorPlan plan{used.size(), std::min(even, default_block(shape, least_bytes)), 0};
  OB_ASSIGN_OR_RETURN(const auto exchange, HostExchange::create(used, model));
  CallTimings timings;
  return offload_factorization(*exchange, routine, arguments, plan, timings);
}

}  // namespace

bool runs_on_devices(const Descriptor& routine) {
  return can_be_split(routine) || can_be_factored(routine);
}

Status run_on_devices(std::span<Device* const> devices, const Descriptor& routine,
                      const Argument* arguments) {
  return can_be_factored(routine) ? run_factorization(devices, routine, arguments)
                                  : run_product(devices, routine, arguments);
}

}  // namespace ob::algorithms
