#include "client/remote_device.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/chunks.hpp"
#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// Of the device's memory, how much one client keeps in freed buffers.
constexpr std::uint64_t kCacheShare = 4;

// Buffers above this part of the device's memory are allocated as asked, not by size classes.
constexpr std::uint64_t kLargeShare = 16;

bool fatal(const Status& status) noexcept {
  switch (status.code()) {
    case Code::connection_lost:
    case Code::protocol_error:
    case Code::deadline_exceeded: return true;
    default: return false;
  }
}

Status unknown_queue(QueueId queue) {
  return Status(Code::invalid_argument, "queue " + std::to_string(queue.value) + " does not exist");
}

}  // namespace

Result<std::unique_ptr<RemoteDevice>> RemoteDevice::open(const std::string& address,
                                                         const ConnectionConfig& config) {
  OB_ASSIGN_OR_RETURN(auto connection, Connection::open(address, config));
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
  info_.accuracies = welcome.accuracies;
  keep_bytes_ = welcome.memory_bytes;
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

Status RemoteDevice::usable() const {
  if (!broken_) return {};
  return Status(Code::connection_lost, "connection to " + connection_->address() + " is broken");
}

// --- queues --------------------------------------------------------------------------------------

Result<QueueId> RemoteDevice::create_queue(const Account&) {
  OB_RETURN_IF_ERROR(usable());
  const QueueId queue{next_id_++};
  auto sent = connection_->command(Opcode::create_queue, queue, std::span<const std::byte>());
  if (!sent.ok()) return note(sent.status());
  queues_[queue];
  return queue;
}

Status RemoteDevice::destroy_queue(QueueId queue) {
  if (queues_.count(queue) == 0) return unknown_queue(queue);
  (void)synchronize(queue);  // its failure has nobody left to interest
  OB_RETURN_IF_ERROR(usable());
  queues_.erase(queue);
  auto sent = connection_->command(Opcode::destroy_queue, queue, std::span<const std::byte>());
  return note(sent.status());
}

Status RemoteDevice::set_accuracy(QueueId id, Accuracy accuracy) {
  OB_RETURN_IF_ERROR(usable());
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  if (at->second.accuracy == accuracy) return {};
  at->second.accuracy = accuracy;
  return note(connection_->command(Opcode::set_accuracy, id, wire::SetAccuracy{accuracy}).status());
}

// Counts one command of the queue. False if it is to be skipped: an earlier one failed, and the
// daemon's queue was cleared when that was heard.
Result<bool> RemoteDevice::enter(QueueId id, Queue*& queue) {
  OB_RETURN_IF_ERROR(usable());
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  queue = &at->second;
  queue->sequences.push_back(connection_->next_sequence());
  return queue->report.status.ok();
}

// --- buffers -------------------------------------------------------------------------------------

Result<BufferId> RemoteDevice::allocate(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(usable());
  // Rounding up wastes a quarter at most; of large buffers that would be much, and near the
  // device's size all.
  const bool large = size_bytes > info_.memory_bytes / kLargeShare;
  const std::uint64_t class_bytes = large ? size_bytes : BufferCache::size_class(size_bytes);
  if (const auto cached = cache_.take(class_bytes)) {
    buffers_[*cached].freed = false;
    buffers_[*cached].asked_bytes = size_bytes;
    OB_RETURN_IF_ERROR(settle(buffers_[*cached]));  // whoever gets it may use it on another queue
    return *cached;
  }
  auto fresh = allocate_new(class_bytes, size_bytes);
  if (fresh.ok() || fresh.status().code() != Code::out_of_memory) return fresh;
  OB_RETURN_IF_ERROR(drop_cached_buffers());
  fresh = allocate_new(class_bytes, size_bytes);
  return fresh.ok() || class_bytes == size_bytes ? fresh : allocate_new(size_bytes, size_bytes);
}

Result<BufferId> RemoteDevice::allocate_new(std::uint64_t class_bytes, std::uint64_t asked_bytes) {
  const BufferId id{next_id_++};
  auto sent = connection_->command(Opcode::allocate, {}, wire::Allocate{id, class_bytes});
  if (!sent.ok()) return note(sent.status());
  Buffer buffer;
  buffer.size_bytes = class_bytes;
  buffer.asked_bytes = asked_bytes;
  if (mapped_) {
    if (const Status status = note(map(id, buffer)); !status.ok()) {
      if (!broken_) (void)note(connection_->command(Opcode::free, {}, wire::Free{id}).status());
      return status;
    }
  }
  buffer.confirmed = mapped_;
  if (!buffer.confirmed) unconfirmed_.push_back(id);
  buffers_[id] = std::move(buffer);
  return id;
}

// Allocation is one-way: a buffer is known to exist once a command that uses it has succeeded.
// @pre the queue passed without failure; its uses since `from` are not forgotten yet
void RemoteDevice::confirm_buffers(QueueId queue, std::uint64_t from) {
  std::erase_if(unconfirmed_, [&](const BufferId id) {
    const auto at = buffers_.find(id);
    if (at == buffers_.end()) return true;
    for (const Use& use : at->second.uses) {
      if (use.queue == queue && use.sequence > from) at->second.confirmed = true;
    }
    return at->second.confirmed;
  });
}

// Asks where the buffer lies and maps the segment the daemon sends.
Status RemoteDevice::map(BufferId id, Buffer& buffer) {
  OB_ASSIGN_OR_RETURN(const std::uint64_t asked,
                      connection_->command(Opcode::locate, {}, wire::Locate{id}));
  OB_ASSIGN_OR_RETURN(const wire::Location where, connection_->wait_location(asked));
  if (where.code != Code::ok) {
    return Status(where.code, "daemon cannot place " + std::to_string(buffer.size_bytes) +
                                  " bytes on its device of " + std::to_string(info_.memory_bytes) +
                                  " (" + to_string(where.code) + ")");
  }
  const auto deadline = transport::Clock::now() + std::chrono::seconds(5);
  OB_ASSIGN_OR_RETURN(const transport::Segment segment,
                      connection_->stream().receive_segment(deadline));
  struct stat file {};
  // a file that shrinks would kill this process
  const int seals = ::fcntl(segment.fd, F_GET_SEALS);
  const bool sane = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(segment.fd, &file) == 0 &&
                    static_cast<std::uint64_t>(file.st_size) >= where.segment_bytes &&
                    where.offset_bytes <= where.segment_bytes &&
                    where.segment_bytes - where.offset_bytes >= buffer.size_bytes;
  void* memory =
      sane ? ::mmap(nullptr, where.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0)
           : MAP_FAILED;
  ::close(segment.fd);
  if (!sane)
    return Status(Code::protocol_error,
                  "daemon sent a segment that is smaller than its buffer or not sealed");
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
  OB_RETURN_IF_ERROR(usable());
  return note(connection_->command(Opcode::free, {}, wire::Free{id}).status());
}

Status RemoteDevice::free(BufferId id) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end() || at->second.freed)
    return Status(Code::invalid_argument, "unknown buffer");
  if (broken_) return {};  // it went with the connection
  OB_RETURN_IF_ERROR(finish_pending_reads(at->second));
  if (!at->second.confirmed) return release(id);
  at->second.freed = true;
  for (const BufferId evicted : cache_.put(id, at->second.size_bytes)) {
    OB_RETURN_IF_ERROR(release(evicted));
  }
  return {};
}

Status RemoteDevice::keep_at_most(std::uint64_t bytes) {
  if (bytes == keep_bytes_) return {};
  keep_bytes_ = bytes;
  cache_.set_capacity(std::min(info_.memory_bytes / kCacheShare, bytes / 4));
  for (const BufferId id : cache_.trim()) OB_RETURN_IF_ERROR(release(id));
  return {};
}

Status RemoteDevice::drop_cached_buffers() {
  for (const BufferId id : cache_.take_all()) OB_RETURN_IF_ERROR(release(id));
  return {};
}

std::byte* RemoteDevice::host_view(BufferId id) noexcept {
  const auto at = buffers_.find(id);
  return at == buffers_.end() || at->second.freed ? nullptr : at->second.mapped;
}

Result<SegmentView> RemoteDevice::segment(BufferId) {
  return Status(Code::unsupported, "the segments of a remote device belong to its daemon");
}

Result<RemoteDevice::Buffer*> RemoteDevice::find(BufferId id, const Region& region) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end() || at->second.freed)
    return Status(Code::invalid_argument, "unknown buffer");
  if (!fits(region, at->second.asked_bytes)) {
    return Status(Code::invalid_argument,
                  "region of " + std::to_string(extent_bytes(region)) + " bytes at offset " +
                      std::to_string(region.offset_bytes) + " exceeds its buffer of " +
                      std::to_string(at->second.asked_bytes) + " bytes");
  }
  return &at->second;
}

void RemoteDevice::forget_finished_uses(Buffer& buffer) {
  std::erase_if(buffer.uses, [&](const Use& use) {
    const auto queue = queues_.find(use.queue);
    return queue == queues_.end() || use.sequence <= queue->second.reached;
  });
}

// Waits until no submitted command uses the buffer any more. What failed is kept for the queue's
// synchronize().
Status RemoteDevice::settle(Buffer& buffer) {
  for (forget_finished_uses(buffer); !buffer.uses.empty(); forget_finished_uses(buffer)) {
    OB_RETURN_IF_ERROR(pass(buffer.uses.front().queue));
  }
  return finish_pending_reads(buffer);
}

Status RemoteDevice::finish_pending_reads(Buffer& buffer) {
  while (buffer.pending_reads > 0) {
    const auto pending = std::find_if(
        pending_copies_.begin(), pending_copies_.end(),
        [&](const PendingCopy& p) { return &buffers_.find(p.buffer)->second == &buffer; });
    OB_RETURN_IF_ERROR(pass(pending->queue));
  }
  return {};
}

// --- commands ------------------------------------------------------------------------------------

template <class Message>
Status RemoteDevice::submit(Opcode opcode, QueueId queue, const Message& message,
                            std::initializer_list<BufferId> uses) {
  wire::Body body;
  wire::encode(message, body);
  return submit(opcode, queue, body.bytes(), std::span<const BufferId>(uses.begin(), uses.size()));
}

Status RemoteDevice::submit(Opcode opcode, QueueId id, std::span<const std::byte> body,
                            std::span<const BufferId> uses) {
  // what was read is still in the buffer that the command may change
  for (const BufferId used : uses) {
    const auto at = buffers_.find(used);
    if (at != buffers_.end()) OB_RETURN_IF_ERROR(finish_pending_reads(at->second));
  }
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy && opcode != Opcode::record) return {};  // record marks its event all the same
  auto sent = connection_->command(opcode, id, body);
  if (!sent.ok()) return note(sent.status());
  for (const BufferId used : uses) {
    const auto at = buffers_.find(used);
    if (at != buffers_.end()) note_use(at->second, id, *sent);  // else the daemon will say so
  }
  return {};
}

void RemoteDevice::note_use(Buffer& buffer, QueueId queue, std::uint64_t sequence) {
  for (Use& use : buffer.uses) {
    if (use.queue != queue) continue;
    use.sequence = sequence;
    return;
  }
  forget_finished_uses(buffer);
  buffer.uses.push_back({queue, sequence});
}

Status RemoteDevice::write(QueueId id, BufferId buffer_id, const Region& region,
                           const Layout& source) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(buffer_id, region));
  if (packed_bytes(region) != source.total_bytes()) {
    return Status(Code::invalid_argument, "source and region differ in size");
  }
  if (buffer->mapped != nullptr) OB_RETURN_IF_ERROR(settle(*buffer));
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy || source.total_bytes() == 0) return {};
  if (buffer->mapped != nullptr) {
    ob::copy(Layout::matrix(buffer->mapped, region), source);
    return {};
  }
  auto sent = connection_->write(id, wire::Write{buffer_id, region}, source);
  if (!sent.ok()) return note(sent.status());
  note_use(*buffer, id, *sent);
  return {};
}

Status RemoteDevice::read(QueueId id, BufferId buffer_id, const Region& region,
                          const Layout& destination) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(buffer_id, region));
  if (packed_bytes(region) != destination.total_bytes()) {
    return Status(Code::invalid_argument, "destination and region differ in size");
  }
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy || destination.total_bytes() == 0) return {};
  if (buffer->mapped == nullptr) {
    auto sent = connection_->read(id, wire::Read{buffer_id, region}, destination);
    if (!sent.ok()) return note(sent.status());
    note_use(*buffer, id, *sent);
    return {};
  }
  forget_finished_uses(*buffer);
  if (buffer->uses.empty()) {
    ob::copy(destination, Layout::matrix(buffer->mapped, region));
    return {};
  }
  pending_copies_.push_back({id, buffer_id, region, destination});
  ++buffer->pending_reads;
  return {};
}

Status RemoteDevice::copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                          const Region& to) {
  OB_RETURN_IF_ERROR(find(source, from).status());
  OB_RETURN_IF_ERROR(find(destination, to).status());
  return submit(Opcode::copy, queue, wire::Copy{source, destination, from, to},
                {source, destination});
}

// The daemon checks against the size class; what the user asked for is known only here. Illegal
// calls are its to refuse.
Status RemoteDevice::check_operands(const Descriptor& routine, const Argument* arguments) {
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::matrix) lds[i] = arguments[i].device.ld;
  }
  if (!routine.legal(arguments, lds)) return {};
  const Operands operands = routine.operands(arguments);  // a temporary would be gone in the loop
  for (const Operand& operand : operands.span()) {
    const DeviceOperand& device = arguments[operand.argument].device;
    const bool matrix = routine.kinds[operand.argument] == Kind::matrix;
    const Region region{
        device.offset_bytes,
        operand.element_bytes,
        operand.triangle,
        operand.rows,
        operand.cols,
        matrix ? static_cast<std::uint64_t>(device.ld) : std::max<std::uint64_t>(1, operand.rows)};
    if (extent_bytes(region) != 0) OB_RETURN_IF_ERROR(find(device.buffer, region).status());
  }
  return {};
}

Status RemoteDevice::digest(QueueId id, BufferId buffer_id, const Region& region,
                            std::uint64_t chunk_bytes, std::span<Digest> digests) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(buffer_id, region));
  if (digests.size() != Chunks(region, chunk_bytes).count()) {
    return Status(Code::invalid_argument, "not one digest for each chunk");
  }
  OB_RETURN_IF_ERROR(finish_pending_reads(*buffer));
  Queue* queue = nullptr;
  OB_ASSIGN_OR_RETURN(const bool healthy, enter(id, queue));
  if (!healthy || digests.empty()) return {};
  auto sent = connection_->digest(id, wire::Digest{buffer_id, region, chunk_bytes}, digests);
  if (!sent.ok()) return note(sent.status());
  note_use(*buffer, id, *sent);
  return {};
}

Status RemoteDevice::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  OB_RETURN_IF_ERROR(check_operands(routine, arguments));
  wire::Body body;
  encode_call(routine, arguments, body);
  std::array<BufferId, kMaxArguments> uses;
  std::size_t count = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (is_memory(routine.kinds[i])) uses[count++] = arguments[i].device.buffer;
  }
  return submit(Opcode::call, queue, body.bytes(), {uses.data(), count});
}

Status RemoteDevice::execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) {
  // else the daemon will say so
  if (const auto at = plan_bytes_.find(plan); at != plan_bytes_.end()) {
    const auto [read_bytes, written_bytes] = at->second;
    const Region from{input.offset_bytes, 1, Triangle::full, read_bytes, 1, read_bytes};
    const Region to{output.offset_bytes, 1, Triangle::full, written_bytes, 1, written_bytes};
    OB_RETURN_IF_ERROR(find(input.buffer, from).status());
    OB_RETURN_IF_ERROR(find(output.buffer, to).status());
  }
  return submit(
      Opcode::execute_plan, queue,
      wire::ExecutePlan{plan, input.buffer, output.buffer, input.offset_bytes, output.offset_bytes},
      {input.buffer, output.buffer});
}

// Events are numbers that the session remembers for good: they are used again.
Result<EventId> RemoteDevice::create_event() {
  EventId event{next_event_};
  if (spare_events_.empty()) {
    ++next_event_;
  } else {
    event = spare_events_.back();
    spare_events_.pop_back();
  }
  events_.insert(event);
  return event;
}

Status RemoteDevice::destroy_event(EventId event) {
  OB_RETURN_IF_ERROR(check_event(event));
  events_.erase(event);
  spare_events_.push_back(event);
  return {};
}

Status RemoteDevice::check_event(EventId event) const {
  if (events_.count(event) != 0) return {};
  return Status(Code::invalid_argument, "event " + std::to_string(event.value) + " does not exist");
}

Status RemoteDevice::record(QueueId queue, EventId event) {
  OB_RETURN_IF_ERROR(check_event(event));
  return submit(Opcode::record, queue, wire::Record{event}, {});
}

Status RemoteDevice::wait(QueueId queue, EventId event) {
  OB_RETURN_IF_ERROR(check_event(event));
  return submit(Opcode::wait, queue, wire::Wait{event}, {});
}

// --- waiting -------------------------------------------------------------------------------------

void RemoteDevice::finish_reads(QueueId queue, bool succeeded) {
  for (const PendingCopy& pending : pending_copies_) {
    if (pending.queue != queue) continue;
    // free() and release() wait for pending reads
    Buffer& buffer = buffers_.find(pending.buffer)->second;
    --buffer.pending_reads;
    if (succeeded) ob::copy(pending.destination, Layout::matrix(buffer.mapped, pending.region));
  }
  std::erase_if(pending_copies_, [&](const PendingCopy& p) { return p.queue == queue; });
}

// Which of the queue's commands the daemon's sequence number means; 0 if none.
std::uint64_t RemoteDevice::Queue::number_of(std::uint64_t sequence) const {
  // Commands that sent nothing bear the number of the one that follows them.
  const auto after = std::upper_bound(sequences.begin(), sequences.end(), sequence);
  if (sequence == 0 || after == sequences.begin() || *std::prev(after) != sequence) return 0;
  return passed + static_cast<std::uint64_t>(after - sequences.begin());
}

// Waits for the queue and adds what it did to its report, for synchronize(). Errors: only those of
// the connection.
Status RemoteDevice::pass(QueueId id) {
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  Queue& queue = at->second;
  Status status = usable();
  if (status.ok()) {
    auto sent = connection_->command(Opcode::synchronize, id, std::span<const std::byte>());
    auto done = sent.ok() ? connection_->wait_done(*sent) : Result<wire::Outcome>(sent.status());
    status = note(done.status());
    if (status.ok()) {
      queue.report.compute_ns += done->compute_ns;
      queue.report.plan_ns += done->plan_ns;
      queue.report.waited_ns += done->waited_ns;
      if (done->code == Code::ok)
        confirm_buffers(id, queue.reached);
      else if (queue.report.status.ok()) {
        queue.report.status = Status(done->code, done->message);
        queue.report.failed_command = queue.number_of(done->failed_sequence);
      }
      queue.reached = *sent;
      status = keep_at_most(done->keep_bytes);
    }
  }
  queue.passed += queue.sequences.size();
  queue.sequences.clear();
  finish_reads(id, status.ok() && queue.report.status.ok());
  return status;
}

QueueReport RemoteDevice::synchronize(QueueId queue) {
  QueueReport report;
  report.status = pass(queue);
  if (!report.status.ok()) return report;
  return std::exchange(queues_[queue].report, QueueReport{});
}

Status RemoteDevice::on_reached(QueueId queue, bool clear,
                                std::function<void(const QueueReport&)> done) {
  OB_RETURN_IF_ERROR(pass(queue));
  const QueueReport report = queues_[queue].report;
  if (clear) queues_[queue].report = QueueReport{};
  done(report);
  return {};
}

Status RemoteDevice::flush() {
  OB_RETURN_IF_ERROR(usable());
  return note(connection_->flush());
}

}  // namespace ob::client
