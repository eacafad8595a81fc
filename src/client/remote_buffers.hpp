#pragma once
// The buffers of a remote device: the commands that use them, and the copies into and out of mapped
// buffers.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/buffer_cache.hpp"
#include "client/daemon_link.hpp"
#include "client/mapped_segment.hpp"
#include "client/remote_queues.hpp"

namespace ob::client {

/// Threads: one at a time.
class RemoteBuffers final : private QueuePassListener {
 public:
  /// @param mapped true: buffers are mapped into this process, small ones up to a number; false:
  /// messages carry their data
  RemoteBuffers(DaemonLink& link, RemoteQueues& queues, bool mapped);

  Result<BufferId> allocate(std::uint64_t size_bytes);
  Status free(BufferId buffer);
  /// Returns nullptr if the buffer is not mapped.
  std::byte* host_view(BufferId buffer) noexcept;
  /// Errors: invalid_argument if the buffer does not exist, or the region is not in it
  Status check(BufferId buffer, const Region& region) { return find(buffer, region).status(); }

  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source);
  Status read(QueueId queue, BufferId buffer, const Region& region, const Layout& destination);
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element);
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests);

  /// Sends a command of the queue that uses these buffers, unless the queue has failed before.
  /// Returns the command's sequence; 0 if it is skipped.
  Result<std::uint64_t> submit(wire::Opcode opcode, QueueId queue, std::span<const std::byte> body,
                               std::span<const BufferId> uses);
  template <class Message>
  Status submit(wire::Opcode opcode, QueueId queue, const Message& message,
                std::initializer_list<BufferId> uses) {
    wire::Body body;
    wire::encode(message, body);
    return submit(opcode, queue, body.bytes(), std::span<const BufferId>(uses.begin(), uses.size()))
        .status();
  }

  /// True if freed buffers still take the device's memory.
  bool has_cached() const noexcept { return !cache_.empty(); }
  /// Frees cached buffers on the daemon.
  Status drop_cached();

 private:
  struct Use {
    QueueId queue;
    std::uint64_t sequence = 0;
  };
  struct Buffer {
    std::uint64_t size_bytes = 0;   // the size class, which the daemon allocated
    std::uint64_t asked_bytes = 0;  // the size that the user may access
    MappedSegment segment;          // used with shared memory
    std::vector<Use> uses;          // the last use of each queue; may have ended
    std::size_t pending_reads = 0;
    bool small = false;      // may share its segment
    bool confirmed = false;  // known to exist on the daemon
    bool freed = false;      // lies in the cache
  };
  struct PendingCopy {  // a copy out of a mapped buffer, after the queue's commands
    QueueId queue;
    BufferId buffer;
    Region region;
    Layout destination;
  };

  Status on_passed(const QueuePass& pass) override;
  Result<BufferId> allocate_new(std::uint64_t class_bytes, std::uint64_t asked_bytes);
  bool shall_map(const Buffer& buffer) const noexcept;
  Status map(BufferId id, Buffer& buffer);
  Status release(BufferId buffer);
  Result<Buffer*> find(BufferId buffer, const Region& region);
  void confirm(QueueId queue, std::uint64_t from);
  Status limit_cache();
  void forget_finished_uses(Buffer& buffer);
  void note_use(Buffer& buffer, QueueId queue, std::uint64_t sequence);
  Status settle(Buffer& buffer);
  Status finish_pending_reads(Buffer& buffer);
  void finish_reads(QueueId queue, bool succeeded);

  DaemonLink& link_;
  RemoteQueues& queues_;
  const bool mapped_;
  const std::uint64_t device_bytes_;
  std::unordered_map<BufferId, Buffer> buffers_;
  std::size_t mapped_small_ = 0;
  std::vector<PendingCopy> pending_copies_;
  std::vector<BufferId> unconfirmed_;
  BufferCache cache_;
  std::uint64_t keep_bytes_;  // the limit of the cache
};

}  // namespace ob::client
