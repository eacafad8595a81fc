#pragma once
// A device in host memory whose calls do what a test says.

#include <functional>
#include <string>
#include <utility>

#include "device/host_device.hpp"

namespace ob::test {

/// Runs a function of the test for each call, on the thread of its queue. It has no transforms.
class CallDevice : public HostDevice {
 public:
  using Run = std::function<void(const HostQueue&)>;

  CallDevice(const std::string& name, std::uint64_t memory_bytes, Run run)
      : HostDevice({.backend = name, .description = {}, .memory_bytes = memory_bytes}),
        run_(std::move(run)) {}
  ~CallDevice() override { finish_queues(); }

  Status call(QueueId id, const Descriptor&, const Argument*) override {
    const auto queue = find_queue(id);
    if (queue == nullptr) return no_such_queue(id);
    queue->submit({}, [this, raw = queue.get()](QueueReport&) {
      run_(*raw);
      return Status();
    });
    return {};
  }
  Result<PlanId> make_plan(const FftPlan&, const Account&) override { return no_such_plan({}); }
  Status destroy_plan(PlanId id) override { return no_such_plan(id); }
  Status execute(QueueId, PlanId id, BufferRef, BufferRef) override { return no_such_plan(id); }

 private:
  const Run run_;
};

}  // namespace ob::test
