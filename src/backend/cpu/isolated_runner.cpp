#include "backend/cpu/isolated_runner.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "backend/cpu/executor_requests.hpp"
#include "base/contained.hpp"
#include "device/host_buffer.hpp"
#include "device/host_event.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace ob::cpu {
namespace {

using executor::Process;

// All clients of a device wait for the thread that makes plans ahead, so that its time for a plan
// is limited. Larger plans are made by the first command that needs them: FFTW 3.3.10 takes some
// milliseconds for round sizes, but 0.5 s for a prime number of 4 million points.
constexpr auto kLongestPlanning = std::chrono::seconds(2);
constexpr std::uint64_t kMostPointsAhead = std::uint64_t{1} << 20;

// A segment that an executor has mapped. The segment holds it.
class Mapping {
 public:
  Mapping(std::weak_ptr<Process> process, BufferId id) : process_(std::move(process)), id_(id) {}
  ~Mapping() {
    if (const auto process = process_.lock()) process->notify(kCallLane, id_.value);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  BufferId id() const noexcept { return id_; }

 private:
  const std::weak_ptr<Process> process_;
  const BufferId id_;
};

Status send(Process& process, std::size_t lane, Request kind, const wire::Body& body,
            const Caller& caller, int descriptor = -1) {
  const executor::Order order{static_cast<std::uint32_t>(kind), body.bytes(), descriptor,
                              caller.cheap};
  return process.request(lane, order, caller.stop);
}

}  // namespace

// A plan that each executor makes when its client first uses it, or ahead of that.
class IsolatedRunner::Plan final : public TransformPlan {
 public:
  Plan(IsolatedRunner& runner, const FftPlan& plan, const Account& account)
      : runner_(runner), plan_(plan), account_(account), id_{++runner.last_id_} {}
  ~Plan() override {
    for (const auto& [number, made] : made_) {
      if (const auto process = made.lock()) process->notify(kCallLane, id_.value | kPlanNotice);
    }
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const FftPlan& plan() const noexcept override { return plan_; }
  PlanId id() const noexcept { return id_; }
  // Makes the plan in the executor that is likely to need it. If that fails, execute() tries again.
  void build() override {
    if (points(plan_) <= kMostPointsAhead) (void)contained([this] { return make_ahead(); });
    built_.set();
  }
  bool built() const noexcept override { return built_.done(); }
  Status wait(std::uint64_t& plan_ns) override {
    plan_ns += built_.wait();
    return {};
  }
  Status execute(const HostTransform& transform, const Caller& caller) override {
    return runner_.execute(*this, transform, caller);
  }

  /// Makes the plan in an executor that lacks it. Two threads may both make it; one is kept.
  Status make_in(const std::shared_ptr<Process>& process, std::size_t lane, const Caller& caller) {
    {
      const std::lock_guard lock(mutex_);
      if (made_.contains(process->number())) return {};
    }
    wire::Body body;
    encode_plan(id_, plan_, body);
    OB_RETURN_IF_ERROR(send(*process, lane, Request::plan, body, caller));
    const std::lock_guard lock(mutex_);
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    made_.emplace(process->number(), process);
    return {};
  }

 private:
  Status make_ahead() {
    const Caller planner{account_, [](std::chrono::nanoseconds had) -> Status {
                           if (had < kLongestPlanning) return {};
                           return {Code::busy, "a plan takes too long to make"};
                         }};
    OB_ASSIGN_OR_RETURN(const auto process, runner_.executor_of(account_));
    return make_in(process, kPlanLane, planner);
  }

  IsolatedRunner& runner_;
  const FftPlan plan_;
  const Account account_;
  const PlanId id_;
  EventMark built_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<Process>> made_;  // by the executor's number
};

IsolatedRunner::IsolatedRunner(Isolation isolation, executor::Program program,
                               std::shared_ptr<const Libraries> libraries)
    : isolation_(isolation), libraries_(std::move(libraries)), executors_(std::move(program)) {}

executor::Owner IsolatedRunner::owner_of(const Account& account) const noexcept {
  const bool by_user = isolation_ == Isolation::user && account.user;
  return {account.user, by_user ? SessionId() : account.session};
}

Result<std::shared_ptr<Process>> IsolatedRunner::executor_of(const Account& account) {
  return executors_.of(owner_of(account));
}

Result<BufferId> IsolatedRunner::mapped(const std::shared_ptr<Process>& process,
                                        HostSegment& segment, const Caller& caller) {
  if (const auto found = segment.mapping_of(process->number())) {
    return static_cast<const Mapping*>(found.get())->id();
  }
  const BufferId id{++last_id_};
  wire::Body body;
  body.u64(id.value);
  body.u64(segment.size_bytes());
  const executor::Owner owner = owner_of(caller.account);
  const Account only{owner.first, owner.second};
  segment.map_for(only, process->number(), nullptr);  // before the executor may keep it
  OB_RETURN_IF_ERROR(send(*process, kCallLane, Request::map, body, caller, segment.fd()));
  segment.map_for(only, process->number(), std::make_shared<Mapping>(process, id));
  return id;
}

Result<BufferRef> IsolatedRunner::place(const std::shared_ptr<Process>& process,
                                        const std::shared_ptr<const void>& buffer,
                                        const void* address, const Caller& caller) {
  if (buffer == nullptr) return BufferRef{};
  HostSegment& segment = *static_cast<const HostBuffer*>(buffer.get())->segment();
  OB_ASSIGN_OR_RETURN(const BufferId id, mapped(process, segment, caller));
  const auto offset = static_cast<const std::byte*>(address) - segment.data();
  return BufferRef{id, static_cast<std::uint64_t>(offset)};
}

Status IsolatedRunner::run(const HostCall& call, const Caller& caller) {
  OB_RETURN_IF_ERROR(caller.stop({}));  // the client may have gone while the call waited
  OB_ASSIGN_OR_RETURN(const auto process, executor_of(caller.account));
  const Descriptor& routine = *call.routine;
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    arguments[i] = call.arguments[i];
    if (is_memory(routine.kinds[i])) arguments[i].device = {{}, 0, call.arguments[i].host.ld};
  }
  const Operands operands = routine.operands(call.arguments);
  for (int i = 0; i < operands.count; ++i) {
    const int argument = operands.items[i].argument;
    const HostOperand& host = call.arguments[argument].host;
    OB_ASSIGN_OR_RETURN(const BufferRef at, place(process, call.buffers[i], host.data, caller));
    arguments[argument].device = {at.buffer, at.offset_bytes, host.ld};
  }
  wire::Body body;
  encode_call(routine, arguments, body);
  return send(*process, kCallLane, Request::call, body, caller);
}

Result<std::shared_ptr<TransformPlan>> IsolatedRunner::plan(const FftPlan& plan,
                                                            const Account& account) {
  OB_RETURN_IF_ERROR(libraries_->fft_for(plan).status());
  return std::shared_ptr<TransformPlan>(std::make_shared<Plan>(*this, plan, account));
}

Status IsolatedRunner::execute(Plan& plan, const HostTransform& transform, const Caller& caller) {
  OB_RETURN_IF_ERROR(caller.stop({}));
  OB_ASSIGN_OR_RETURN(const auto process, executor_of(caller.account));
  OB_RETURN_IF_ERROR(plan.make_in(process, kCallLane, caller));
  OB_ASSIGN_OR_RETURN(const BufferRef input,
                      place(process, transform.input_buffer, transform.input, caller));
  OB_ASSIGN_OR_RETURN(const BufferRef output,
                      place(process, transform.output_buffer, transform.output, caller));
  wire::Body body;
  body.u64(plan.id().value);
  for (const BufferRef& array : {input, output}) {
    body.u64(array.buffer.value);
    body.u64(array.offset_bytes);
  }
  return send(*process, kCallLane, Request::execute, body, caller);
}

}  // namespace ob::cpu
