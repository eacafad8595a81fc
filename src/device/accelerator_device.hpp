#pragma once
// The common part of devices with memory of their own: buffers, copies, calls and plans.

#include <memory>
#include <string>
#include <utility>

#include "base/contained.hpp"
#include "device/compute_time.hpp"
#include "device/device_memory.hpp"
#include "device/fill.hpp"
#include "device/gemm_rate.hpp"
#include "device/host_call.hpp"
#include "device/measure_rates.hpp"
#include "device/planner.hpp"
#include "device/queued_device.hpp"

namespace ob {

/// A backend derives from this class and adds the computations of its libraries.
/// @tparam Queue a HostQueue with four more members: `submit_work(quick, work)` runs a
/// Status(Queue&, QueueReport&) in order; `compute(time, what, report, compute)` runs a Status()
/// in a turn of the device, as part of such work; `copies()`; and a `context()` for computations
/// @tparam Transform the plan of a transform, with `execute(context, input, output)`
template <class Queue, class Transform>
class AcceleratorDevice : public QueuedDevice {
 public:
  const DeviceInfo& info() const noexcept final { return info_; }
  MemoryUse memory_use() const final { return memory_.use(); }
  unsigned turns() const noexcept final { return time_.turns(); }
  std::uint64_t executor_deaths() const noexcept final { return kernel_process_deaths(); }

  /// Waits for submitted commands if the buffers that they still use, though freed, leave too
  /// little memory.
  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& /*owner*/ = {}) final {
    return memory_.allocate(size_bytes);
  }
  bool await_room(std::uint64_t size_bytes, std::chrono::milliseconds longest) final {
    return memory_.await_room(size_bytes, longest);
  }
  Status free(BufferId buffer) final { return memory_.free(buffer); }
  std::byte* host_view(BufferId /*buffer*/) noexcept final { return nullptr; }
  Result<SegmentView> segment(BufferId /*buffer*/) final {
    return Status(Code::unsupported, "buffers of this device do not lie in memory files");
  }

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) final;
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) final;
  Status destroy_plan(PlanId plan) final;
  std::uint64_t plan_host_bytes(const FftPlan& plan) const final {
    return planner_.check(plan).ok() ? transform_host_bytes(plan) : 0;
  }
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) final;

  /// Measures the rates in info().   Threads: before others
  void measure() {
    info_.gflops_double = measure_gflops(*this);
    info_.routine_rates = measure_rates(*this);
  }

 protected:
  /// @param info memory_bytes is the largest transform   @param longest_command_s as ComputeTime's
  AcceleratorDevice(DeviceInfo info, DeviceMemory& memory, double longest_command_s)
      : info_(std::move(info)),
        memory_(memory),
        time_(longest_command_s),
        planner_(info_.memory_bytes) {}
  /// Runs all submitted commands and destroys all plans. The destructor of a derived class calls
  /// it first, because commands and plans use that class's members.
  void finish();

  std::shared_ptr<Queue> find(QueueId id) const {
    return std::static_pointer_cast<Queue>(find_queue(id));  // make_queue() makes no others
  }

  /// Prepares a thread that makes or destroys plans for the device's libraries.
  virtual Status enter() const { return {}; }
  /// Checks a call before it waits for its turn. It may replace operands by private copies.
  virtual Status inspect(Queue& /*queue*/, HostCall& /*call*/) { return {}; }
  /// Submits a call as part of its queue's work.
  virtual Status run(Queue& queue, const HostCall& call) = 0;
  /// Makes the plan of a transform.
  virtual Result<std::unique_ptr<Transform>> make_transform(const FftPlan& plan) const = 0;
  virtual std::uint64_t transform_host_bytes(const FftPlan& plan) const = 0;

 private:
  struct Plan {
    FftPlan shape;
    EventMark made;
    Status status;
    std::unique_ptr<Transform> transform;
  };

  const MemoryTable& buffers() const noexcept final { return memory_; }
  void submit_copy(HostQueue& queue, CheckedCopy copy) final;
  void submit_fill(HostQueue& queue, CheckedFill fill) final;
  void submit_digest(HostQueue& queue, CheckedDigest digest) final;
  void submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch) final;
  void build(Plan& plan) const;

  DeviceInfo info_;
  DeviceMemory& memory_;
  ComputeTime time_;
  HandleTable<PlanId, Plan> plans_;
  Planner planner_;
};

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::finish() {
  finish_queues();
  planner_.finish();
  (void)enter();
  plans_.take_all().clear();
}

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::submit_copy(HostQueue& host_queue, CheckedCopy copy) {
  auto& queue = static_cast<Queue&>(host_queue);
  const bool quick = copy.way == Way::inside ||
                     queue.copies().reachable(copy.way == Way::to_device ? copy.from : copy.to);
  queue.submit_work(quick, [copy = std::move(copy)](Queue& on, QueueReport&) {
    if (copy.way == Way::to_device) return on.copies().upload(copy.to, copy.from);
    if (copy.way == Way::to_host) return on.copies().download(copy.to, copy.from);
    return on.copies().copy(copy.to, copy.from);
  });
}

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::submit_fill(HostQueue& host_queue, CheckedFill fill) {
  static_cast<Queue&>(host_queue)
      .submit_work(false, [fill = std::move(fill)](Queue& on, QueueReport&) {
        const FillCopies copies{
            [&](const Layout& to, const Layout& from) { return on.copies().upload(to, from); },
            [&](const Layout& to, const Layout& from) { return on.copies().copy(to, from); }};
        const auto element = std::span(fill.element).first(fill.region.element_bytes);
        return ob::fill(fill.buffer.data, fill.region, element, copies);
      });
}

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::submit_digest(HostQueue& host_queue,
                                                        CheckedDigest digest) {
  static_cast<Queue&>(host_queue)
      .submit_work(false, [digest = std::move(digest)](Queue& on, QueueReport&) -> Status {
        for (std::uint64_t i = 0; i < digest.chunks.count(); ++i) {
          OB_RETURN_IF_ERROR(
              on.copies().digest(digest.buffer.data, digest.chunks.at(i), digest.digests[i]));
        }
        return {};
      });
}

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::submit_launch(HostQueue& host_queue,
                                                        std::unique_ptr<PendingLaunch> launch) {
  static_cast<Queue&>(host_queue)
      .submit_work(false,
                   [this, launch = std::move(launch)](Queue& on, QueueReport& report) -> Status {
                     OB_RETURN_IF_ERROR(launch->prepare(report.plan_ns));
                     return on.compute(time_, launch->computation(on.account()), report,
                                       [&] { return launch->run(on); });
                   });
}

template <class Queue, class Transform>
Status AcceleratorDevice<Queue, Transform>::call(QueueId queue_id, const Descriptor& routine,
                                                 const Argument* arguments) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  Status status = resolve_call(memory_, routine, arguments, call);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(false,
                     [this, what = computation_of(routine, call.flops(), queue->account()),
                      call = std::move(call)](Queue& on, QueueReport& report) mutable -> Status {
                       OB_RETURN_IF_ERROR(inspect(on, call));
                       return on.compute(time_, what, report, [&] { return run(on, call); });
                     });
  return {};
}

template <class Queue, class Transform>
Result<PlanId> AcceleratorDevice<Queue, Transform>::make_plan(const FftPlan& plan,
                                                              const Account& account) {
  OB_RETURN_IF_ERROR(planner_.check(plan));
  OB_RETURN_IF_ERROR(planner_.admit(account));
  auto made = std::make_shared<Plan>();
  made->shape = plan;
  planner_.submit(account, false, made, [this](Plan& waiting) { build(waiting); });
  return plans_.add(std::move(made));
}

template <class Queue, class Transform>
void AcceleratorDevice<Queue, Transform>::build(Plan& plan) const {
  plan.status = contained([&]() -> Status {
    OB_RETURN_IF_ERROR(enter());
    OB_ASSIGN_OR_RETURN(plan.transform, make_transform(plan.shape));
    return {};
  });
  plan.made.set();
}

template <class Queue, class Transform>
Status AcceleratorDevice<Queue, Transform>::destroy_plan(PlanId id) {
  const auto plan = plans_.take(id);
  if (plan == nullptr) return no_such_plan(id);
  return enter();  // the plan may be destroyed here
}

template <class Queue, class Transform>
Status AcceleratorDevice<Queue, Transform>::execute(QueueId queue_id, PlanId id, BufferRef input,
                                                    BufferRef output) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto plan = plans_.find(id);
  HostTransform arrays;
  Status status = plan == nullptr ? no_such_plan(id)
                                  : resolve_transform(memory_, plan->shape, input, output, arrays);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(
      false,
      [this, what = computation_of(plan->shape, queue->account()), plan = std::move(plan),
       arrays = std::move(arrays)](Queue& on, QueueReport& report) -> Status {
        report.plan_ns += plan->made.wait();
        OB_RETURN_IF_ERROR(plan->status);
        return on.compute(time_, what, report, [&] {
          return plan->transform->execute(on.context(), arrays.input, arrays.output);
        });
      });
  return {};
}

}  // namespace ob
