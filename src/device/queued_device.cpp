#include "device/queued_device.hpp"

#include <algorithm>
#include <utility>

#include "device/region_checks.hpp"

namespace ob {
namespace {

Status no_such_event(EventId id) {
  return {Code::invalid_argument, "event " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

void QueuedDevice::finish_queues() {
  queues_.take_all().clear();
  modules_ = nullptr;
}

Status QueuedDevice::no_such_queue(QueueId id) {
  return {Code::invalid_argument, "queue " + std::to_string(id.value) + " does not exist"};
}

Status QueuedDevice::no_such_plan(PlanId id) {
  return {Code::invalid_argument, "plan " + std::to_string(id.value) + " does not exist"};
}

Result<QueueId> QueuedDevice::create_queue(const Account& account) {
  const unsigned number = ++queues_made_;
  OB_ASSIGN_OR_RETURN(auto queue, make_queue("ob-queue-" + std::to_string(number), account));
  return queues_.add(std::move(queue));
}

Result<std::shared_ptr<HostQueue>> QueuedDevice::make_queue(const std::string& name,
                                                            const Account& account) {
  return std::make_shared<HostQueue>(name, account);
}

Status QueuedDevice::destroy_queue(QueueId id) {
  const std::shared_ptr<HostQueue> queue = queues_.take(id);
  if (queue == nullptr) return no_such_queue(id);
  (void)queue->synchronize();
  return {};
}

Status QueuedDevice::abandon(QueueId id) {
  const std::shared_ptr<HostQueue> queue = find_queue(id);
  if (queue == nullptr) return no_such_queue(id);
  queue->abandon();
  return {};
}

Result<EventId> QueuedDevice::create_event() { return events_.add(std::make_shared<HostEvent>()); }

Status QueuedDevice::destroy_event(EventId id) {
  return events_.take(id) == nullptr ? no_such_event(id) : Status();
}

Status QueuedDevice::record(QueueId queue_id, EventId id) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  const auto event = events_.find(id);
  if (event == nullptr) {
    queue->fail(no_such_event(id));
    return {};
  }
  auto mark = queue->make_mark();
  event->record(mark);
  queue->record(std::move(mark));
  return {};
}

Status QueuedDevice::wait(QueueId queue_id, EventId id) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  const auto event = events_.find(id);
  if (event == nullptr) {
    queue->fail(no_such_event(id));
    return {};
  }
  queue->wait(event->last());
  return {};
}

Status QueuedDevice::hold(QueueId queue_id, std::shared_ptr<const Gate> gate) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  queue->hold(std::move(gate));
  return {};
}

Status QueuedDevice::write(QueueId queue_id, BufferId id, const Region& region,
                           const Layout& source) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = buffers().held(id);
  Status status = check_region("write", id, buffer, region);
  if (status.ok()) status = check_sizes("write", source.total_bytes(), packed_bytes(region));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  submit_copy(
      *queue,
      {Way::to_device, Layout::matrix(buffer.data, region), source, {std::move(buffer.owner)}});
  return {};
}

Status QueuedDevice::read(QueueId queue_id, BufferId id, const Region& region,
                          const Layout& destination) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = buffers().held(id);
  Status status = check_region("read", id, buffer, region);
  if (status.ok()) status = check_sizes("read", packed_bytes(region), destination.total_bytes());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  submit_copy(
      *queue,
      {Way::to_host, destination, Layout::matrix(buffer.data, region), {std::move(buffer.owner)}});
  return {};
}

Status QueuedDevice::copy(QueueId queue_id, BufferId source_id, const Region& from,
                          BufferId destination_id, const Region& to) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory source = buffers().held(source_id);
  HeldMemory destination = buffers().held(destination_id);
  Status status = check_region("copy", source_id, source, from);
  if (status.ok()) status = check_region("copy", destination_id, destination, to);
  if (status.ok()) status = check_sizes("copy", packed_bytes(from), packed_bytes(to));
  if (status.ok() && source_id == destination_id) status = check_disjoint("copy", from, to);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  submit_copy(*queue, {Way::inside,
                       Layout::matrix(destination.data, to),
                       Layout::matrix(source.data, from),
                       {std::move(source.owner), std::move(destination.owner)}});
  return {};
}

Status QueuedDevice::fill(QueueId queue_id, BufferId id, const Region& region,
                          std::span<const std::byte> element) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = buffers().held(id);
  Status status = check_region("fill", id, buffer, region);
  if (status.ok()) status = check_fill(region, element);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  if (packed_bytes(region) == 0) {
    queue->submit({.cheap = true}, [](QueueReport&) { return Status(); });
    return {};
  }
  CheckedFill fill{std::move(buffer), region, {}};
  std::copy(element.begin(), element.end(), fill.element.begin());
  submit_fill(*queue, std::move(fill));
  return {};
}

Status QueuedDevice::digest(QueueId queue_id, BufferId id, const Region& region,
                            std::uint64_t chunk_bytes, std::span<Digest> digests) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = buffers().held(id);
  Status status = check_region("digest", id, buffer, region);
  const Chunks chunks(region, chunk_bytes);
  if (status.ok()) status = check_chunks(chunks.count(), digests.size());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  submit_digest(*queue, {std::move(buffer), packed_bytes(region), chunks, digests});
  return {};
}

// --- kernels -------------------------------------------------------------------------------------

void QueuedDevice::use_kernels(std::shared_ptr<const KernelRunner> runner) {
  if (runner != nullptr) modules_ = std::make_unique<KernelModules>(std::move(runner));
}

Status QueuedDevice::runs_kernels() {
  return modules_ == nullptr ? Device::runs_kernels() : modules_->usable();
}

std::uint32_t QueuedDevice::kernel_kinds() { return modules_ == nullptr ? 0 : modules_->kinds(); }

Result<ModuleId> QueuedDevice::load_module(ModuleSource source,
                                           std::function<void(const ModuleReport&)> built,
                                           const Account& account) {
  if (modules_ == nullptr) return Device::runs_kernels();
  return modules_->load(std::move(source), std::move(built), account);
}

Status QueuedDevice::unload_module(ModuleId module) {
  return modules_ == nullptr ? Device::runs_kernels() : modules_->unload(module);
}

Status QueuedDevice::launch(QueueId queue_id, const KernelLaunch& launch) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  if (modules_ == nullptr) {
    queue->fail(Device::runs_kernels());
    return {};
  }
  auto bound = modules_->bind(buffers(), launch);
  if (!bound.ok()) {
    queue->fail(bound.status());
    return {};
  }
  submit_launch(*queue, std::move(bound).value());
  return {};
}

void QueuedDevice::submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> /*launch*/) {
  queue.fail(Device::runs_kernels());
}

// --- waits ---------------------------------------------------------------------------------------

QueueReport QueuedDevice::synchronize(QueueId id) {
  const auto queue = find_queue(id);
  if (queue == nullptr) {
    QueueReport report;
    report.status = no_such_queue(id);
    return report;
  }
  return queue->synchronize();
}

Status QueuedDevice::on_reached(QueueId id, bool clear,
                                std::function<void(const QueueReport&)> done) {
  const auto queue = find_queue(id);
  if (queue == nullptr) return no_such_queue(id);
  queue->on_reached(clear, std::move(done));
  return {};
}

}  // namespace ob
