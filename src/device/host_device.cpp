#include "device/host_device.hpp"

#include <algorithm>
#include <utility>

#include "base/chunks.hpp"

namespace ob {
namespace {

// Copying runs at several GB/s, and starting on a piece (a column) costs some 20 ns; both roughly,
// on the slow side: fresh memory is touched here for the first time.
bool cheap_copy(const Layout& a, const Layout& b) {
  const std::uint64_t piece =
      std::max<std::uint64_t>(1, std::min(a.piece_bytes(), b.piece_bytes()));
  const double pieces = static_cast<double>(a.total_bytes()) / static_cast<double>(piece);
  const double seconds = static_cast<double>(a.total_bytes()) / 4e9 + pieces * 20e-9;
  return seconds < HostQueue::kCheapSeconds;
}

std::string describe(const Region& region) {
  return std::to_string(region.rows) + " x " + std::to_string(region.cols) + " elements of " +
         std::to_string(region.element_bytes) + " bytes at byte " +
         std::to_string(region.offset_bytes) + ", leading dimension " + std::to_string(region.ld);
}

Status check_region(const char* command, BufferId id, const HostBuffer* buffer,
                    const Region& region) {
  if (buffer == nullptr) {
    return {Code::invalid_argument,
            std::string(command) + ": buffer " + std::to_string(id.value) + " does not exist"};
  }
  if (!fits(region, buffer->size_bytes())) {
    return {Code::invalid_argument, std::string(command) + ": the region is not inside buffer " +
                                        std::to_string(id.value) + " (" + describe(region) +
                                        ", in " + std::to_string(buffer->size_bytes()) + " bytes)"};
  }
  return {};
}

Status check_sizes(const char* command, std::uint64_t from_bytes, std::uint64_t to_bytes) {
  if (from_bytes == to_bytes) return {};
  return {Code::invalid_argument, std::string(command) + ": sizes differ (" +
                                      std::to_string(from_bytes) + " bytes from, " +
                                      std::to_string(to_bytes) + " bytes to)"};
}

Status no_such_event(EventId id) {
  return {Code::invalid_argument, "event " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

HostDevice::HostDevice(DeviceInfo info) : info_(std::move(info)), memory_(info_.memory_bytes) {
  info_.host_visible = true;
}

void HostDevice::finish_queues() { queues_.take_all().clear(); }

Status HostDevice::no_such_queue(QueueId id) {
  return {Code::invalid_argument, "queue " + std::to_string(id.value) + " does not exist"};
}

MemoryUse HostDevice::memory_use() const {
  const HostBufferPool::Use pool = memory_.pool_use();
  return {memory_.used_bytes(), pool.idle_bytes, pool.asked, pool.reused};
}

Result<QueueId> HostDevice::create_queue(const Account& account) {
  const unsigned number = ++queues_made_;
  return queues_.add(std::make_shared<HostQueue>("ob-queue-" + std::to_string(number), account));
}

Status HostDevice::destroy_queue(QueueId id) {
  const std::shared_ptr<HostQueue> queue = queues_.take(id);
  if (queue == nullptr) return no_such_queue(id);
  (void)queue->synchronize();
  return {};
}

Result<BufferId> HostDevice::allocate(std::uint64_t size_bytes) {
  return memory_.allocate(size_bytes);
}

Status HostDevice::free(BufferId buffer) { return memory_.free(buffer); }

std::byte* HostDevice::host_view(BufferId id) noexcept {
  const auto buffer = memory_.find(id);
  return buffer == nullptr ? nullptr : buffer->data();
}

Result<SegmentView> HostDevice::segment(BufferId id) {
  const auto buffer = memory_.find(id);
  if (buffer == nullptr) {
    return Status(Code::invalid_argument, "buffer " + std::to_string(id.value) + " does not exist");
  }
  buffer->mark_exported();
  return SegmentView{buffer->fd(), 0, buffer->segment_bytes()};
}

Status HostDevice::write(QueueId queue_id, BufferId id, const Region& region,
                         const Layout& source) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto buffer = memory_.find(id);
  Status status = check_region("write", id, buffer.get(), region);
  if (status.ok()) status = check_sizes("write", source.total_bytes(), packed_bytes(region));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout destination = Layout::matrix(buffer->data(), region);
  queue->submit({.cheap = cheap_copy(destination, source)},
                [destination, source, buffer = std::move(buffer)](QueueReport&) {
                  ob::copy(destination, source);
                  return Status();
                });
  return {};
}

Status HostDevice::read(QueueId queue_id, BufferId id, const Region& region,
                        const Layout& destination) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto buffer = memory_.find(id);
  Status status = check_region("read", id, buffer.get(), region);
  if (status.ok()) status = check_sizes("read", packed_bytes(region), destination.total_bytes());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout source = Layout::matrix(buffer->data(), region);
  queue->submit({.cheap = cheap_copy(destination, source)},
                [destination, source, buffer = std::move(buffer)](QueueReport&) {
                  ob::copy(destination, source);
                  return Status();
                });
  return {};
}

Status HostDevice::copy(QueueId queue_id, BufferId source_id, const Region& from,
                        BufferId destination_id, const Region& to) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto source = memory_.find(source_id);
  auto destination = memory_.find(destination_id);
  Status status = check_region("copy", source_id, source.get(), from);
  if (status.ok()) status = check_region("copy", destination_id, destination.get(), to);
  if (status.ok()) status = check_sizes("copy", packed_bytes(from), packed_bytes(to));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const Layout source_layout = Layout::matrix(source->data(), from);
  const Layout layout = Layout::matrix(destination->data(), to);
  queue->submit({.cheap = cheap_copy(layout, source_layout)},
                [layout, source_layout, source = std::move(source),
                 destination = std::move(destination)](QueueReport&) {
                  ob::copy(layout, source_layout);
                  return Status();
                });
  return {};
}

Status HostDevice::digest(QueueId queue_id, BufferId id, const Region& region,
                          std::uint64_t chunk_bytes, std::span<Digest> digests) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto buffer = memory_.find(id);
  Status status = check_region("digest", id, buffer.get(), region);
  const Chunks chunks(region, chunk_bytes);
  if (status.ok() && digests.size() != chunks.count()) {
    status = {Code::invalid_argument, "digest: the region has " + std::to_string(chunks.count()) +
                                          " chunks, not " + std::to_string(digests.size())};
  }
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double seconds = static_cast<double>(packed_bytes(region)) / 4e9;
  queue->submit({.cheap = seconds < HostQueue::kCheapSeconds},
                [chunks, digests, buffer = std::move(buffer)](QueueReport&) {
                  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
                    const ChunkParts parts = chunks.at(i);
                    digests[i] = digest_of(buffer->data(), parts.span());
                  }
                  return Status();
                });
  return {};
}

Result<EventId> HostDevice::create_event() { return events_.add(std::make_shared<HostEvent>()); }

Status HostDevice::destroy_event(EventId id) {
  return events_.take(id) == nullptr ? no_such_event(id) : Status();
}

Status HostDevice::record(QueueId queue_id, EventId id) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  const auto event = events_.find(id);
  if (event == nullptr) {
    queue->fail(no_such_event(id));
    return {};
  }
  queue->submit({.cheap = true, .always = true}, [mark = event->record()](QueueReport&) {
    mark->set();
    return Status();
  });
  return {};
}

Status HostDevice::wait(QueueId queue_id, EventId id) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  const auto event = events_.find(id);
  if (event == nullptr) {
    queue->fail(no_such_event(id));
    return {};
  }
  auto mark = event->last();
  const bool passed = mark == nullptr || mark->done();
  queue->submit({.cheap = passed}, [mark = std::move(mark)](QueueReport&) {
    if (mark != nullptr) (void)mark->wait();
    return Status();
  });
  return {};
}

QueueReport HostDevice::synchronize(QueueId id) {
  const auto queue = find_queue(id);
  if (queue == nullptr) {
    QueueReport report;
    report.status = no_such_queue(id);
    return report;
  }
  return queue->synchronize();
}

Status HostDevice::on_reached(QueueId id, bool clear,
                              std::function<void(const QueueReport&)> done) {
  const auto queue = find_queue(id);
  if (queue == nullptr) return no_such_queue(id);
  queue->on_reached(clear, std::move(done));
  return {};
}

}  // namespace ob
