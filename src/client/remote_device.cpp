#include "client/remote_device.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// Of the device's memory, how much one client keeps in freed buffers.
constexpr std::uint64_t kCacheShare = 4;

// A program's working set of plans; making one again costs the daemon milliseconds at most.
constexpr std::size_t kMaxCachedPlans = 128;

bool fatal(const Status& status) noexcept {
  switch (status.code()) {
    case Code::connection_lost:
    case Code::protocol_error:
    case Code::deadline_exceeded: return true;
    default: return false;
  }
}

}  // namespace

Result<std::unique_ptr<RemoteDevice>> RemoteDevice::open(const std::string& address,
                                                         const Patience& patience) {
  OB_ASSIGN_OR_RETURN(auto connection, Connection::open(address, patience));
  return std::unique_ptr<RemoteDevice>(new RemoteDevice(std::move(connection)));
}

RemoteDevice::RemoteDevice(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {
  const wire::Welcome& welcome = connection_->welcome();
  mapped_ = welcome.host_visible != 0 && connection_->stream().shares_memory();
  info_.backend = welcome.backend;
  info_.description = welcome.description + " at " + connection_->address();
  info_.memory_bytes = welcome.memory_bytes;
  info_.host_visible = mapped_;
  info_.gflops_double = welcome.gflops_double;
  cache_.set_capacity(welcome.memory_bytes / kCacheShare);
}

RemoteDevice::~RemoteDevice() {
  if (!broken_ && connection_->command(Opcode::goodbye, {}, std::span<const std::byte>()).ok()) {
    (void)connection_->flush();  // the daemon frees everything either way
  }
  for (auto& [id, buffer] : buffers_) unmap(buffer);
}

Status RemoteDevice::note(Status status) {
  if (fatal(status)) broken_ = true;
  return status;
}

// --- queues ---------------------------------------------------------------------------------------------------

Result<QueueId> RemoteDevice::create_queue() {
  const QueueId queue{next_id_++};
  auto sent = connection_->command(Opcode::create_queue, queue, std::span<const std::byte>());
  if (!sent.ok()) return note(sent.status());
  default_queue_ = queue;
  return queue;
}

Status RemoteDevice::destroy_queue(QueueId queue) {
  const QueueReport report = synchronize(queue);
  OB_RETURN_IF_ERROR(report.status);
  reached_.erase(queue.value);
  auto sent = connection_->command(Opcode::destroy_queue, queue, std::span<const std::byte>());
  return note(sent.status());
}

// --- buffers --------------------------------------------------------------------------------------------------

Result<BufferId> RemoteDevice::allocate(std::uint64_t size_bytes) {
  const std::uint64_t class_bytes =
      size_bytes > info_.memory_bytes ? size_bytes : BufferCache::size_class(size_bytes);
  if (const auto cached = cache_.take(class_bytes)) return *cached;
  auto fresh = allocate_new(class_bytes);
  if (fresh.ok() || fresh.status().code() != Code::out_of_memory) return fresh;
  OB_RETURN_IF_ERROR(drop_cached_buffers());
  fresh = allocate_new(class_bytes);
  return fresh.ok() || class_bytes == size_bytes ? fresh : allocate_new(size_bytes);
}

Result<BufferId> RemoteDevice::allocate_new(std::uint64_t class_bytes) {
  const BufferId id{next_id_++};
  auto sent = connection_->command(Opcode::allocate, default_queue_, wire::Allocate{id, class_bytes});
  if (!sent.ok()) return note(sent.status());
  Buffer buffer;
  buffer.size_bytes = class_bytes;
  if (mapped_) OB_RETURN_IF_ERROR(note(map(id, buffer)));
  buffer.confirmed = mapped_;
  if (!buffer.confirmed) unconfirmed_.push_back(id);
  buffers_[id] = buffer;
  return id;
}

// Allocation is one-way: a buffer is known to exist once the daemon has passed it without an error.
void RemoteDevice::confirm_buffers() {
  for (const BufferId id : unconfirmed_) {
    const auto at = buffers_.find(id);
    if (at != buffers_.end()) at->second.confirmed = true;
  }
  unconfirmed_.clear();
}

// Asks where the buffer lies and maps the segment the daemon sends.
Status RemoteDevice::map(BufferId id, Buffer& buffer) {
  OB_ASSIGN_OR_RETURN(const std::uint64_t asked,
                      connection_->command(Opcode::locate, default_queue_, wire::Locate{id}));
  OB_ASSIGN_OR_RETURN(const wire::Location where, connection_->wait_location(asked));
  if (where.code != Code::ok) {
    return Status(where.code, "daemon cannot place " + std::to_string(buffer.size_bytes) +
                                  " bytes on its device (" + to_string(where.code) + ")");
  }
  const auto deadline = transport::Clock::now() + std::chrono::seconds(5);
  OB_ASSIGN_OR_RETURN(const transport::Segment segment,
                      connection_->stream().receive_segment(deadline));
  struct stat file {};
  const bool sane = ::fstat(segment.fd, &file) == 0 &&
                    static_cast<std::uint64_t>(file.st_size) >= where.segment_bytes &&
                    where.offset_bytes <= where.segment_bytes &&
                    where.segment_bytes - where.offset_bytes >= buffer.size_bytes;
  void* memory = sane ? ::mmap(nullptr, where.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                               segment.fd, 0)
                      : MAP_FAILED;
  ::close(segment.fd);
  if (!sane) return Status(Code::protocol_error, "daemon sent a segment smaller than its buffer");
  if (memory == MAP_FAILED) return Status(Code::out_of_memory, "cannot map the daemon's buffer");
  (void)::madvise(memory, where.segment_bytes, MADV_DONTFORK);  // children have no business with it
  buffer.mapping = memory;
  buffer.mapping_bytes = where.segment_bytes;
  buffer.mapped = static_cast<std::byte*>(memory) + where.offset_bytes;
  return {};
}

void RemoteDevice::unmap(Buffer& buffer) noexcept {
  if (buffer.mapping != nullptr) ::munmap(buffer.mapping, buffer.mapping_bytes);
  buffer.mapping = nullptr;
  buffer.mapped = nullptr;
}

Status RemoteDevice::release(BufferId id) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return Status(Code::invalid_argument, "unknown buffer");
  unmap(at->second);
  buffers_.erase(at);
  auto sent = connection_->command(Opcode::free, default_queue_, wire::Free{id});
  return note(sent.status());
}

Status RemoteDevice::free(BufferId id) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return Status(Code::invalid_argument, "unknown buffer");
  if (at->second.has_pending_read) (void)synchronize(at->second.last_queue);
  if (!at->second.confirmed) return release(id);
  for (const BufferId evicted : cache_.put(id, at->second.size_bytes)) {
    OB_RETURN_IF_ERROR(release(evicted));
  }
  return {};
}

Status RemoteDevice::drop_cached_buffers() {
  for (const BufferId id : cache_.take_all()) OB_RETURN_IF_ERROR(release(id));
  return {};
}

std::byte* RemoteDevice::host_view(BufferId id) noexcept {
  const auto at = buffers_.find(id);
  return at == buffers_.end() ? nullptr : at->second.mapped;
}

Result<SegmentView> RemoteDevice::segment(BufferId) {
  return Status(Code::unsupported, "the segments of a remote device belong to its daemon");
}

Result<RemoteDevice::Buffer*> RemoteDevice::find(BufferId id, const Region& region) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return Status(Code::invalid_argument, "unknown buffer");
  if (!fits(region, at->second.size_bytes)) {
    return Status(Code::invalid_argument,
                  "region of " + std::to_string(extent_bytes(region)) + " bytes at offset " +
                      std::to_string(region.offset_bytes) + " exceeds its buffer of " +
                      std::to_string(at->second.size_bytes) + " bytes");
  }
  return &at->second;
}

// Waits until no submitted command uses a mapped buffer any more.
Status RemoteDevice::settle(Buffer& buffer, QueueId) {
  if (buffer.last_use <= reached_[buffer.last_queue.value]) return {};
  return synchronize(buffer.last_queue).status;
}

// --- commands -------------------------------------------------------------------------------------------------

template <class Message>
Status RemoteDevice::submit(Opcode opcode, QueueId queue, const Message& message,
                            std::initializer_list<BufferId> uses) {
  wire::Body body;
  wire::encode(message, body);
  return submit(opcode, queue, body.bytes(), std::span<const BufferId>(uses.begin(), uses.size()));
}

Status RemoteDevice::submit(Opcode opcode, QueueId queue, std::span<const std::byte> body,
                            std::span<const BufferId> uses) {
  for (const BufferId id : uses) {
    const auto at = buffers_.find(id);
    if (at != buffers_.end() && at->second.has_pending_read) {
      OB_RETURN_IF_ERROR(synchronize(at->second.last_queue).status);
    }
  }
  auto sent = connection_->command(opcode, queue, body);
  if (!sent.ok()) return note(sent.status());
  for (const BufferId id : uses) {
    const auto at = buffers_.find(id);
    if (at == buffers_.end()) continue;  // the daemon will say so
    if (at->second.last_use > reached_[at->second.last_queue.value] &&
        at->second.last_queue != queue) {
      OB_RETURN_IF_ERROR(settle(at->second, queue));  // one last_queue per buffer is remembered
    }
    at->second.last_use = *sent;
    at->second.last_queue = queue;
  }
  return {};
}

Status RemoteDevice::write(QueueId queue, BufferId id, const Region& region, const Layout& source) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  if (packed_bytes(region) != source.total_bytes()) {
    return Status(Code::invalid_argument, "source and region differ in size");
  }
  if (buffer->mapped != nullptr) {
    OB_RETURN_IF_ERROR(settle(*buffer, queue));
    ob::copy(Layout::matrix(buffer->mapped, region), source);
    return {};
  }
  if (source.total_bytes() == 0) return {};
  auto sent = connection_->write(queue, wire::Write{id, region}, source);
  if (!sent.ok()) return note(sent.status());
  buffer->last_use = *sent;
  buffer->last_queue = queue;
  return {};
}

Status RemoteDevice::read(QueueId queue, BufferId id, const Region& region,
                          const Layout& destination) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  if (packed_bytes(region) != destination.total_bytes()) {
    return Status(Code::invalid_argument, "destination and region differ in size");
  }
  if (buffer->mapped != nullptr) {
    if (buffer->last_use > reached_[buffer->last_queue.value] && buffer->last_queue != queue) {
      OB_RETURN_IF_ERROR(settle(*buffer, queue));
    }
    pending_copies_.push_back({queue, id, region, destination});
    buffer->has_pending_read = true;
    buffer->last_queue = queue;
    return {};
  }
  if (destination.total_bytes() == 0) return {};
  connection_->expect_data(queue, destination);
  return submit(Opcode::read, queue, wire::Read{id, region}, {id});
}

Status RemoteDevice::copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                          const Region& to) {
  return submit(Opcode::copy, queue, wire::Copy{source, destination, from, to}, {source, destination});
}

Status RemoteDevice::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  wire::Body body;
  encode_call(routine, arguments, body);
  std::array<BufferId, kMaxArguments> uses;
  std::size_t count = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const Kind kind = routine.kinds[i];
    if (kind == Kind::matrix || kind == Kind::index_vector || kind == Kind::info) {
      uses[count++] = arguments[i].device.buffer;
    }
  }
  return submit(Opcode::call, queue, body.bytes(), {uses.data(), count});
}

Result<PlanId> RemoteDevice::make_plan(const FftPlan& plan) {
  const PlanId id{next_id_++};
  wire::Body body;
  encode_plan(id, plan, body);
  auto sent = connection_->command(Opcode::make_plan, default_queue_, body.bytes());
  if (!sent.ok()) return note(sent.status());
  return id;
}

Result<PlanId> RemoteDevice::plan_for(const FftPlan& plan) {
  const auto at = std::find_if(plans_.begin(), plans_.end(), [&](const auto& p) { return p.first == plan; });
  if (at != plans_.end()) return at->second;
  OB_ASSIGN_OR_RETURN(const PlanId id, make_plan(plan));
  plans_.emplace_back(plan, id);
  if (plans_.size() > kMaxCachedPlans) {
    OB_RETURN_IF_ERROR(destroy_plan(plans_.front().second));
    plans_.pop_front();
  }
  return id;
}

Status RemoteDevice::drop_cached_plans() {
  for (const auto& [plan, id] : plans_) OB_RETURN_IF_ERROR(destroy_plan(id));
  plans_.clear();
  return {};
}

Status RemoteDevice::destroy_plan(PlanId plan) {
  auto sent = connection_->command(Opcode::destroy_plan, default_queue_, wire::DestroyPlan{plan});
  return note(sent.status());
}

Status RemoteDevice::execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) {
  return submit(Opcode::execute_plan, queue,
                wire::ExecutePlan{plan, input.buffer, output.buffer, input.offset_bytes,
                                  output.offset_bytes},
                {input.buffer, output.buffer});
}

Result<EventId> RemoteDevice::create_event() { return EventId{next_id_++}; }

Status RemoteDevice::destroy_event(EventId) { return {}; }  // events are numbers; the session forgets them

Status RemoteDevice::record(QueueId queue, EventId event) {
  return submit(Opcode::record, queue, wire::Record{event}, {});
}

Status RemoteDevice::wait(QueueId queue, EventId event) {
  return submit(Opcode::wait, queue, wire::Wait{event}, {});
}

// --- waiting --------------------------------------------------------------------------------------------------

Status RemoteDevice::finish_reads(QueueId queue, bool succeeded) {
  for (const PendingCopy& pending : pending_copies_) {
    if (pending.queue != queue) continue;
    const auto at = buffers_.find(pending.buffer);
    if (at == buffers_.end()) continue;
    at->second.has_pending_read = false;
    if (succeeded) {
      ob::copy(pending.destination, Layout::matrix(at->second.mapped, pending.region));
    }
  }
  std::erase_if(pending_copies_, [&](const PendingCopy& p) { return p.queue == queue; });
  return {};
}

QueueReport RemoteDevice::synchronize(QueueId queue) {
  QueueReport report;
  auto sent = connection_->command(Opcode::synchronize, queue, std::span<const std::byte>());
  report.status = note(sent.status());
  if (report.status.ok()) {
    auto done = connection_->wait_done(*sent);
    report.status = note(done.status());
    if (done.ok()) {
      reached_[queue.value] = *sent;
      report.compute_ns = done->compute_ns;
      report.plan_ns = done->plan_ns;
      report.failed_command = done->failed_sequence;
      if (done->code != Code::ok) report.status = Status(done->code, done->message);
      if (done->code == Code::ok) confirm_buffers();
    }
  }
  (void)finish_reads(queue, report.status.ok());
  return report;
}

Status RemoteDevice::on_reached(QueueId queue, bool clear,
                                std::function<void(const QueueReport&)> done) {
  if (!clear) {
    return Status(Code::unsupported, "a remote queue reports its error only once");
  }
  done(synchronize(queue));
  return {};
}

Status RemoteDevice::flush() { return note(connection_->flush()); }

}  // namespace ob::client
