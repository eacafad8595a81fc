#pragma once
// A device in front of another one. It fails the operation that a test selects.

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace ob::test {

/// Threads: as the inner device; functions that change its behaviour: only before it is used
class ForwardingDevice final : public Device {
 public:
  explicit ForwardingDevice(Device& inner) : inner_(inner), info_(inner.info()) {}

  /// The n-th operation from now fails (1: the next); with n = 0 none fails.
  void fail_operation(int n, Status with) {
    countdown_ = n;
    failure_ = std::move(with);
    operations_ = 0;
  }
  int operations() const { return operations_; }
  /// From now on host_view() returns nullptr, as for memory that the host cannot see.
  void hide_memory() { hidden_ = true; }
  /// Hides the memory and reports this in info(), which a daemon reads when it starts.
  void be_elsewhere() {
    hidden_ = true;
    info_.host_visible = false;
  }

  /// Lets calls of this routine fail with `unsupported`.
  void lack(std::string routine) { lacking_ = std::move(routine); }

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<QueueId> create_queue(const Account& account = {}) override {
    return inner_.create_queue(account);
  }
  Status destroy_queue(QueueId queue) override { return inner_.destroy_queue(queue); }
  Status set_accuracy(QueueId queue, Accuracy accuracy) override {
    demands_.push_back(accuracy);
    return inner_.set_accuracy(queue, accuracy);
  }
  /// Returns the arguments of set_accuracy() so far.
  const std::vector<Accuracy>& demands() const { return demands_; }
  /// Lets info() report these accuracy modes as different ones, see DeviceInfo.
  void distinguish(std::uint8_t accuracies) { info_.accuracies = accuracies; }
  /// Lets info() report these rates.
  void tell(std::vector<RoutineRate> rates) { info_.routine_rates = std::move(rates); }
  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) override {
    OB_RETURN_IF_ERROR(turn());
    auto buffer = inner_.allocate(size_bytes, owner);
    if (buffer.ok()) ++buffers_, ++allocations_;
    return buffer;
  }
  int allocations() const { return allocations_; }
  Status free(BufferId buffer) override {
    --buffers_;
    return inner_.free(buffer);
  }
  int buffers() const { return buffers_; }
  std::byte* host_view(BufferId buffer) noexcept override {
    return hidden_ ? nullptr : inner_.host_view(buffer);
  }
  Result<SegmentView> segment(BufferId buffer) override { return inner_.segment(buffer); }
  Status write(QueueId queue, BufferId buffer, const Region& region,
               const Layout& source) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.write(queue, buffer, region, source);
  }
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.read(queue, buffer, region, destination);
  }
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.copy(queue, source, from, destination, to);
  }
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.fill(queue, buffer, region, element);
  }
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.digest(queue, buffer, region, chunk_bytes, digests);
  }
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override {
    OB_RETURN_IF_ERROR(turn());
    if (routine.name == lacking_) return {Code::unsupported, lacking_ + " is not here"};
    return inner_.call(queue, routine, arguments);
  }
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override {
    return inner_.make_plan(plan, account);
  }
  Status destroy_plan(PlanId plan) override { return inner_.destroy_plan(plan); }
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override {
    OB_RETURN_IF_ERROR(turn());
    return inner_.execute(queue, plan, input, output);
  }
  Result<EventId> create_event() override { return inner_.create_event(); }
  Status destroy_event(EventId event) override { return inner_.destroy_event(event); }
  Status record(QueueId queue, EventId event) override { return inner_.record(queue, event); }
  Status wait(QueueId queue, EventId event) override { return inner_.wait(queue, event); }
  QueueReport synchronize(QueueId queue) override {
    QueueReport report = inner_.synchronize(queue);
    if (const Status status = turn(); !status.ok()) report.status = status;
    return report;
  }
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override {
    return inner_.on_reached(queue, clear, std::move(done));
  }

 private:
  Status turn() {
    ++operations_;
    return --countdown_ == 0 ? failure_ : Status();
  }

  Device& inner_;
  DeviceInfo info_;
  std::atomic<int> countdown_ = 0;
  std::atomic<int> operations_ = 0;
  std::atomic<int> buffers_ = 0;
  std::atomic<int> allocations_ = 0;
  bool hidden_ = false;
  std::vector<Accuracy> demands_;
  Status failure_;
  std::string lacking_;
};

}  // namespace ob::test
