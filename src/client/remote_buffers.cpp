#include "client/remote_buffers.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/chunks.hpp"
#include "client/fill_message.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// One client keeps at most a quarter of the device's memory in freed buffers.
constexpr std::uint64_t kCacheShare = 4;

// Buffers above this part of the device's memory get their exact size, not a size class.
constexpr std::uint64_t kLargeShare = 16;

// A call of 22 x 22 (4 KiB) with mapped buffers takes 6.9 us, with messages 8.4 us. More small
// buffers than calls need at a time share segments that the daemon does not export.
constexpr std::size_t kMostMappedSmall = 32;

}  // namespace

RemoteBuffers::RemoteBuffers(DaemonLink& link, RemoteQueues& queues, bool mapped)
    : link_(link),
      queues_(queues),
      mapped_(mapped),
      device_bytes_(link.connection().welcome().memory_bytes),
      keep_bytes_(link.keep_bytes()) {
  cache_.set_capacity(device_bytes_ / kCacheShare);
  queues_.set_listener(*this);
}

// --- allocation ----------------------------------------------------------------------------------

Result<BufferId> RemoteBuffers::allocate(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(link_.usable());
  // Rounding up wastes at most a quarter. For large buffers this is much memory, and near the size
  // of the device the allocation would fail.
  const bool large = size_bytes > device_bytes_ / kLargeShare;
  const std::uint64_t class_bytes = large ? size_bytes : BufferCache::size_class(size_bytes);
  if (const auto cached = cache_.take(class_bytes)) {
    Buffer& buffer = buffers_[*cached];
    buffer.freed = false;
    buffer.asked_bytes = size_bytes;
    OB_RETURN_IF_ERROR(settle(buffer));  // its next user may use it on another queue
    return *cached;
  }
  auto fresh = allocate_new(class_bytes, size_bytes);
  if (fresh.ok() || fresh.status().code() != Code::out_of_memory) return fresh;
  OB_RETURN_IF_ERROR(drop_cached());
  fresh = allocate_new(class_bytes, size_bytes);
  return fresh.ok() || class_bytes == size_bytes ? fresh : allocate_new(size_bytes, size_bytes);
}

Result<BufferId> RemoteBuffers::allocate_new(std::uint64_t class_bytes, std::uint64_t asked_bytes) {
  const BufferId id{link_.next_id()};
  OB_RETURN_IF_ERROR(link_.command(Opcode::allocate, {}, wire::Allocate{id, class_bytes}).status());
  Buffer buffer;
  buffer.size_bytes = class_bytes;
  buffer.asked_bytes = asked_bytes;
  buffer.small = class_bytes <= wire::kSmallBufferBytes;
  const bool mapped = shall_map(buffer);
  if (mapped) {
    if (const Status status = link_.note(map(id, buffer)); !status.ok()) {
      if (!link_.broken()) (void)link_.command(Opcode::free, {}, wire::Free{id});
      return status;
    }
  }
  buffer.confirmed = mapped;
  if (!buffer.confirmed) unconfirmed_.push_back(id);
  buffers_[id] = std::move(buffer);
  return id;
}

bool RemoteBuffers::shall_map(const Buffer& buffer) const noexcept {
  return mapped_ && (!buffer.small || mapped_small_ < kMostMappedSmall);
}

// Asks for the place of the buffer, and maps the segment that the daemon sends.
Status RemoteBuffers::map(BufferId id, Buffer& buffer) {
  OB_ASSIGN_OR_RETURN(const std::uint64_t asked,
                      link_.command(Opcode::locate, {}, wire::Locate{id}));
  OB_ASSIGN_OR_RETURN(const wire::Location where, link_.connection().wait_location(asked));
  if (where.code == Code::unsupported && buffer.small) return {};  // messages carry its data
  if (where.code != Code::ok) {
    return Status(where.code, "daemon cannot place " + std::to_string(buffer.size_bytes) +
                                  " bytes on its device of " + std::to_string(device_bytes_) +
                                  " (" + to_string(where.code) + ")");
  }
  OB_ASSIGN_OR_RETURN(buffer.segment, MappedSegment::receive(link_.connection().stream(), where,
                                                             buffer.size_bytes));
  if (buffer.small) ++mapped_small_;
  return {};
}

Status RemoteBuffers::free(BufferId id) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end() || at->second.freed)
    return Status(Code::invalid_argument, "unknown buffer");
  if (link_.broken()) return {};  // the connection's end has freed it
  OB_RETURN_IF_ERROR(finish_pending_reads(at->second));
  if (!at->second.confirmed) return release(id);
  at->second.freed = true;
  for (const BufferId evicted : cache_.put(id, at->second.size_bytes)) {
    OB_RETURN_IF_ERROR(release(evicted));
  }
  return {};
}

Status RemoteBuffers::release(BufferId id) {
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return Status(Code::invalid_argument, "unknown buffer");
  if (at->second.small && at->second.segment.buffer() != nullptr) --mapped_small_;
  buffers_.erase(at);
  OB_RETURN_IF_ERROR(link_.usable());
  return link_.command(Opcode::free, {}, wire::Free{id}).status();
}

Status RemoteBuffers::drop_cached() {
  for (const BufferId id : cache_.take_all()) OB_RETURN_IF_ERROR(release(id));
  return {};
}

std::byte* RemoteBuffers::host_view(BufferId id) noexcept {
  const auto at = buffers_.find(id);
  return at == buffers_.end() || at->second.freed ? nullptr : at->second.segment.buffer();
}

Result<RemoteBuffers::Buffer*> RemoteBuffers::find(BufferId id, const Region& region) {
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

// --- uses ----------------------------------------------------------------------------------------

Result<std::uint64_t> RemoteBuffers::submit(Opcode opcode, QueueId queue,
                                            std::span<const std::byte> body,
                                            std::span<const BufferId> uses) {
  // a pending read needs the contents that the command may change
  for (const BufferId used : uses) {
    const auto at = buffers_.find(used);
    if (at != buffers_.end()) OB_RETURN_IF_ERROR(finish_pending_reads(at->second));
  }
  OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
  if (!healthy && opcode != Opcode::record) return 0;  // record still marks its event
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, link_.command(opcode, queue, body));
  for (const BufferId used : uses) {
    const auto at = buffers_.find(used);
    if (at != buffers_.end()) note_use(at->second, queue, sent);  // otherwise the daemon refuses it
  }
  return sent;
}

void RemoteBuffers::forget_finished_uses(Buffer& buffer) {
  std::erase_if(buffer.uses,
                [&](const Use& use) { return queues_.is_over(use.queue, use.sequence); });
}

void RemoteBuffers::note_use(Buffer& buffer, QueueId queue, std::uint64_t sequence) {
  for (Use& use : buffer.uses) {
    if (use.queue != queue) continue;
    use.sequence = sequence;
    return;
  }
  forget_finished_uses(buffer);
  buffer.uses.push_back({queue, sequence});
}

// Waits until no submitted command uses the buffer any more. Failures of commands are kept for the
// synchronize() of their queue.
Status RemoteBuffers::settle(Buffer& buffer) {
  for (forget_finished_uses(buffer); !buffer.uses.empty(); forget_finished_uses(buffer)) {
    OB_RETURN_IF_ERROR(queues_.pass(buffer.uses.front().queue));
  }
  return finish_pending_reads(buffer);
}

// --- transfers -----------------------------------------------------------------------------------

Status RemoteBuffers::write(QueueId queue, BufferId id, const Region& region,
                            const Layout& source) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  if (packed_bytes(region) != source.total_bytes()) {
    return Status(Code::invalid_argument, "source and region differ in size");
  }
  std::byte* const mapped = buffer->segment.buffer();
  if (mapped != nullptr) OB_RETURN_IF_ERROR(settle(*buffer));
  OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
  if (!healthy || source.total_bytes() == 0) return {};
  if (mapped != nullptr) {
    ob::copy(Layout::matrix(mapped, region), source);
    return {};
  }
  const auto sent = link_.connection().write(queue, wire::Write{id, region}, source);
  if (!sent.ok()) return link_.note(sent.status());
  note_use(*buffer, queue, *sent);
  return {};
}

Status RemoteBuffers::read(QueueId queue, BufferId id, const Region& region,
                           const Layout& destination) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  if (packed_bytes(region) != destination.total_bytes()) {
    return Status(Code::invalid_argument, "destination and region differ in size");
  }
  OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
  if (!healthy || destination.total_bytes() == 0) return {};
  std::byte* const mapped = buffer->segment.buffer();
  if (mapped == nullptr) {
    const auto sent = link_.connection().read(queue, wire::Read{id, region}, destination);
    if (!sent.ok()) return link_.note(sent.status());
    note_use(*buffer, queue, *sent);
    return {};
  }
  forget_finished_uses(*buffer);
  if (buffer->uses.empty()) {
    ob::copy(destination, Layout::matrix(mapped, region));
    return {};
  }
  pending_copies_.push_back({queue, id, region, destination});
  ++buffer->pending_reads;
  return {};
}

Status RemoteBuffers::fill(QueueId queue, BufferId id, const Region& region,
                           std::span<const std::byte> element) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  OB_ASSIGN_OR_RETURN(const wire::Fill message, fill_message(id, region, element));
  OB_RETURN_IF_ERROR(finish_pending_reads(*buffer));
  OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
  if (!healthy) return {};
  const auto sent = link_.connection().fill(queue, message);
  if (!sent.ok()) return link_.note(sent.status());
  note_use(*buffer, queue, *sent);
  return {};
}

Status RemoteBuffers::digest(QueueId queue, BufferId id, const Region& region,
                             std::uint64_t chunk_bytes, std::span<Digest> digests) {
  OB_ASSIGN_OR_RETURN(Buffer * buffer, find(id, region));
  if (digests.size() != Chunks(region, chunk_bytes).count()) {
    return Status(Code::invalid_argument, "not one digest for each chunk");
  }
  OB_RETURN_IF_ERROR(finish_pending_reads(*buffer));
  OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
  if (!healthy || digests.empty()) return {};
  const auto sent =
      link_.connection().digest(queue, wire::Digest{id, region, chunk_bytes}, digests);
  if (!sent.ok()) return link_.note(sent.status());
  note_use(*buffer, queue, *sent);
  return {};
}

Status RemoteBuffers::finish_pending_reads(Buffer& buffer) {
  while (buffer.pending_reads > 0) {
    const auto pending = std::find_if(
        pending_copies_.begin(), pending_copies_.end(),
        [&](const PendingCopy& p) { return &buffers_.find(p.buffer)->second == &buffer; });
    OB_RETURN_IF_ERROR(queues_.pass(pending->queue));
  }
  return {};
}

void RemoteBuffers::finish_reads(QueueId queue, bool succeeded) {
  for (const PendingCopy& pending : pending_copies_) {
    if (pending.queue != queue) continue;
    // free() and release() wait for pending reads
    Buffer& buffer = buffers_.find(pending.buffer)->second;
    --buffer.pending_reads;
    if (succeeded) {
      ob::copy(pending.destination, Layout::matrix(buffer.segment.buffer(), pending.region));
    }
  }
  std::erase_if(pending_copies_, [&](const PendingCopy& p) { return p.queue == queue; });
}

// --- after a wait --------------------------------------------------------------------------------

// Allocation has no reply: a buffer is known to exist once a command that uses it has succeeded.
// @pre the uses since `from` are not forgotten yet
void RemoteBuffers::confirm(QueueId queue, std::uint64_t from) {
  std::erase_if(unconfirmed_, [&](const BufferId id) {
    const auto at = buffers_.find(id);
    if (at == buffers_.end()) return true;
    for (const Use& use : at->second.uses) {
      if (use.queue == queue && use.sequence > from) at->second.confirmed = true;
    }
    return at->second.confirmed;
  });
}

// Frees cached buffers beyond the daemon's limit for the session.
Status RemoteBuffers::limit_cache() {
  if (link_.keep_bytes() == keep_bytes_) return {};
  keep_bytes_ = link_.keep_bytes();
  cache_.set_capacity(std::min(device_bytes_ / kCacheShare, keep_bytes_ / 4));
  for (const BufferId id : cache_.trim()) OB_RETURN_IF_ERROR(release(id));
  return {};
}

Status RemoteBuffers::on_passed(const QueuePass& pass) {
  if (pass.confirmed) confirm(pass.queue, pass.from);
  const Status status = pass.answered ? limit_cache() : Status();
  finish_reads(pass.queue, pass.successful && status.ok());
  return status;
}

}  // namespace ob::client
