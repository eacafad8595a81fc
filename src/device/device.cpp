#include "device/device.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/aligned_memory.hpp"
#include "device/kernels/module.hpp"

namespace ob {
namespace {

// The answer of a queue, which may come after its waiter has left.
struct Answer {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<QueueReport> report;
};

}  // namespace

Result<std::shared_ptr<std::byte>> Device::staging(std::uint64_t size_bytes) {
  return aligned_memory(size_bytes);
}

Status Device::hold(QueueId /*queue*/, std::shared_ptr<const Gate> /*gate*/) {
  return {Code::unsupported, "queues of this device wait for its own events only"};
}

Status Device::runs_kernels() {
  return {Code::unsupported,
          "this device runs no kernels of programs (its backend has none, or was built without the "
          "headers of OpenCL); use local:cpu or local:opencl of a whole build"};
}

Result<ModuleId> Device::load_module(ModuleSource /*source*/,
                                     std::function<void(const ModuleReport&)> /*built*/,
                                     const Account& /*account*/) {
  return runs_kernels();
}

Status Device::unload_module(ModuleId /*module*/) { return runs_kernels(); }

Status Device::launch(QueueId /*queue*/, const KernelLaunch& /*launch*/) { return runs_kernels(); }

std::optional<QueueReport> Device::await(QueueId queue, bool clear,
                                         std::chrono::steady_clock::time_point deadline) {
  const auto answer = std::make_shared<Answer>();
  const Status asked = on_reached(queue, false, [answer](const QueueReport& report) {
    const std::lock_guard lock(answer->mutex);
    answer->report = report;
    answer->arrived.notify_one();
  });
  if (!asked.ok()) {
    QueueReport report;
    report.status = asked;
    return report;
  }
  {
    std::unique_lock lock(answer->mutex);
    const auto done = [&] { return answer->report.has_value(); };
    if (deadline == std::chrono::steady_clock::time_point::max()) {
      answer->arrived.wait(lock, done);  // the clock cannot add to this time
    } else if (!answer->arrived.wait_until(lock, deadline, done)) {
      return std::nullopt;
    }
    if (!clear) return std::move(*answer->report);
  }
  return synchronize(queue);  // which the queue has reached
}

Status Device::mark(QueueId queue, std::function<void(const QueueMark&)> done) {
  return on_reached(queue, false, [done = std::move(done)](const QueueReport& report) {
    const auto clock = std::chrono::steady_clock::now().time_since_epoch();
    const auto clock_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(clock).count();
    done({report, static_cast<std::uint64_t>(clock_ns)});
  });
}

}  // namespace ob
