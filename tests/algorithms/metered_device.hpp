#pragma once
// A device that forwards to another one and counts its memory and commands.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device/device.hpp"

namespace ob::test {

/// The counts of a MeteredDevice. They outlive it.
struct Meter {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> live_bytes;  // size of each buffer
  std::uint64_t now_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t written_bytes = 0;  // written by write(), not through mapped memory
  std::uint64_t read_bytes = 0;
  int refusals = 0;
  /// The commands in the order of submission: w is write(), c is call(), r is read(), e is
  /// record(), h is wait(), s is synchronize(). A capital letter marks a command on a queue other
  /// than the queue of the first command.
  std::string commands;
  std::uint64_t first_queue = 0;
};

/// Threads: any
class MeteredDevice : public Device {
 public:
  MeteredDevice(std::unique_ptr<Device> inner, std::shared_ptr<Meter> meter)
      : inner_(std::move(inner)), meter_(std::move(meter)) {}

  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) override {
    auto buffer = inner_->allocate(size_bytes, owner);
    const std::lock_guard lock(meter_->mutex);
    if (!buffer.ok()) {
      ++meter_->refusals;
      return buffer;
    }
    meter_->live_bytes[buffer->value] = size_bytes;
    meter_->now_bytes += size_bytes;
    meter_->peak_bytes = std::max(meter_->peak_bytes, meter_->now_bytes);
    return buffer;
  }
  Status free(BufferId buffer) override {
    {
      const std::lock_guard lock(meter_->mutex);
      meter_->now_bytes -= meter_->live_bytes[buffer.value];
      meter_->live_bytes.erase(buffer.value);
    }
    return inner_->free(buffer);
  }

  const DeviceInfo& info() const noexcept override { return inner_->info(); }
  Result<QueueId> create_queue(const Account& account = {}) override {
    return inner_->create_queue(account);
  }
  Status destroy_queue(QueueId queue) override { return inner_->destroy_queue(queue); }
  std::byte* host_view(BufferId buffer) noexcept override { return inner_->host_view(buffer); }
  Result<SegmentView> segment(BufferId buffer) override { return inner_->segment(buffer); }
  Status write(QueueId queue, BufferId buffer, const Region& region,
               const Layout& source) override {
    note(queue, 'w');
    add(meter_->written_bytes, packed_bytes(region));
    return inner_->write(queue, buffer, region, source);
  }
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override {
    note(queue, 'r');
    add(meter_->read_bytes, packed_bytes(region));
    return inner_->read(queue, buffer, region, destination);
  }
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override {
    return inner_->copy(queue, source, from, destination, to);
  }
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element) override {
    return inner_->fill(queue, buffer, region, element);
  }
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override {
    return inner_->digest(queue, buffer, region, chunk_bytes, digests);
  }
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override {
    note(queue, 'c');
    return inner_->call(queue, routine, arguments);
  }
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override {
    return inner_->make_plan(plan, account);
  }
  Status destroy_plan(PlanId plan) override { return inner_->destroy_plan(plan); }
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override {
    return inner_->execute(queue, plan, input, output);
  }
  Result<EventId> create_event() override { return inner_->create_event(); }
  Status destroy_event(EventId event) override { return inner_->destroy_event(event); }
  Status record(QueueId queue, EventId event) override {
    note(queue, 'e');
    return inner_->record(queue, event);
  }
  Status wait(QueueId queue, EventId event) override {
    note(queue, 'h');
    return inner_->wait(queue, event);
  }
  QueueReport synchronize(QueueId queue) override {
    note(queue, 's');
    return inner_->synchronize(queue);
  }
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override {
    return inner_->on_reached(queue, clear, std::move(done));
  }

 private:
  void add(std::uint64_t& count, std::uint64_t size_bytes) {
    const std::lock_guard lock(meter_->mutex);
    count += size_bytes;
  }
  void note(QueueId queue, char command) {
    const std::lock_guard lock(meter_->mutex);
    if (meter_->commands.empty()) meter_->first_queue = queue.value;
    const bool first = queue.value == meter_->first_queue;
    meter_->commands += first ? command : static_cast<char>(command - 'a' + 'A');
  }

  std::unique_ptr<Device> inner_;
  std::shared_ptr<Meter> meter_;
};

}  // namespace ob::test
