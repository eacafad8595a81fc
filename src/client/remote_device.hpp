#pragma once
// A device behind a connection. Over TCP element data travels in write and data messages; on the
// same machine the daemon's buffers are mapped and the caller's data is copied once, straight into
// and out of them.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/buffer_cache.hpp"
#include "client/connection.hpp"
#include "device/device.hpp"
#include "device/peering.hpp"

namespace ob::client {

/// Threads: one at a time (a connection is acquired whole). Blocking calls wait for the daemon with
/// Patience; after connection_lost, protocol_error or deadline_exceeded the device is broken for
/// good.
class RemoteDevice final : public Device, private Peering {
 public:
  static Result<std::unique_ptr<RemoteDevice>> open(const std::string& address,
                                                    const ConnectionConfig& config = {});
  ~RemoteDevice() override;

  /// True once an error made the connection useless.
  bool broken() const noexcept { return broken_; }
  /// Gives the connection up: for callers that cannot say what is still under way.
  void abandon() noexcept { broken_ = true; }
  Connection& connection() noexcept { return *connection_; }

  const DeviceInfo& info() const noexcept override { return info_; }
  /// The daemon knows whose work it is: the account is its business.
  Result<QueueId> create_queue(const Account& account = {}) override;
  Status destroy_queue(QueueId queue) override;
  Status set_accuracy(QueueId queue, Accuracy accuracy) override;
  Result<BufferId> allocate(std::uint64_t size_bytes) override;
  Status free(BufferId buffer) override;
  std::byte* host_view(BufferId buffer) noexcept override;
  Result<SegmentView> segment(BufferId buffer) override;
  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) override;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Peering* peering() noexcept override { return this; }
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override;
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  Result<EventId> create_event() override;
  Status destroy_event(EventId event) override;
  Status record(QueueId queue, EventId event) override;
  Status wait(QueueId queue, EventId event) override;
  QueueReport synchronize(QueueId queue) override;
  /// Answers are taken when the thread waits, so this waits too.
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override;

  /// Sends what is buffered; work that nobody waits for yet starts.
  Status flush();
  /// make_plan(), remembering what was planned on this connection (bounded: what was not used for
  /// longest goes).
  Result<PlanId> plan_for(const FftPlan& plan);
  /// Forgets and destroys remembered plans, after one of them failed.
  Status drop_cached_plans();
  /// True if freed buffers still take the device's memory.
  bool has_cached_buffers() const noexcept { return !cache_.empty(); }
  /// What the daemon wants this session to hold of the device's memory between calls at most
  /// [bytes], as it last said: half of it is for freed buffers and plans, the other for the user's
  /// copies. Nothing enforces it, but who holds more is the first to be let go of.
  std::uint64_t keep_bytes() const noexcept { return keep_bytes_; }
  /// Frees cached buffers on the daemon (after it ran out of memory).
  Status drop_cached_buffers();

 private:
  struct Use {
    QueueId queue;
    std::uint64_t sequence = 0;
  };
  struct Queue {
    std::uint64_t reached = 0;             // last sequence known to be done
    std::uint64_t passed = 0;              // commands before those below
    std::vector<std::uint64_t> sequences;  // of the commands since the last pass()
    // what passes heard and synchronize() has not reported yet
    QueueReport report;
    Accuracy accuracy = Accuracy::standard;  // as the daemon was told
    std::uint64_t number_of(std::uint64_t sequence) const;
  };
  struct Buffer {
    std::uint64_t size_bytes = 0;   // the class, what the daemon allocated
    std::uint64_t asked_bytes = 0;  // what the user may touch
    std::byte* mapped = nullptr;    // over shared memory
    void* mapping = nullptr;
    std::size_t mapping_bytes = 0;
    std::vector<Use> uses;  // last of each queue; some may be over
    std::size_t pending_reads = 0;
    bool confirmed = false;  // known to exist on the daemon
    bool freed = false;      // in the cache
  };
  struct PendingCopy {  // out of a mapped buffer, once the queue has passed
    QueueId queue;
    BufferId buffer;
    Region region;
    Layout destination;
  };

  // Peering
  Result<Mailbox> mailbox() override;
  Result<PeerId> connect(const Mailbox& mailbox) override;
  Status send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
              const Region& region) override;
  Status receive(QueueId queue, PeerMessageId peer_message, BufferId buffer, const Region& region,
                 PeerId next) override;
  Status await(PeerMessageId peer_message, const std::function<bool()>& give_up) override;
  Status check() override;
  Status leave() override;

  explicit RemoteDevice(std::unique_ptr<Connection> connection);
  Result<BufferId> allocate_new(std::uint64_t class_bytes, std::uint64_t asked_bytes);
  Status usable() const;
  Result<bool> enter(QueueId id, Queue*& queue);
  Status pass(QueueId queue);
  void confirm_buffers(QueueId queue, std::uint64_t from);
  void forget_finished_uses(Buffer& buffer);
  void note_use(Buffer& buffer, QueueId queue, std::uint64_t sequence);
  Status finish_pending_reads(Buffer& buffer);
  Status check_event(EventId event) const;
  Status map(BufferId id, Buffer& buffer);
  void unmap(Buffer& buffer) noexcept;
  Status release(BufferId buffer);
  Result<Buffer*> find(BufferId buffer, const Region& region);
  Status check_operands(const Descriptor& routine, const Argument* arguments);
  Status settle(Buffer& buffer);
  template <class Message>
  Status submit(wire::Opcode opcode, QueueId queue, const Message& message,
                std::initializer_list<BufferId> uses);
  Status submit(wire::Opcode opcode, QueueId queue, std::span<const std::byte> body,
                std::span<const BufferId> uses);
  void finish_reads(QueueId queue, bool succeeded);
  Status keep_at_most(std::uint64_t bytes);
  Status forget_oldest_plans();
  Status note(Status status);  // remembers a broken connection

  std::unique_ptr<Connection> connection_;
  DeviceInfo info_;
  bool mapped_ = false;
  bool broken_ = false;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_event_ = 1;
  std::unordered_map<BufferId, Buffer> buffers_;
  std::unordered_map<QueueId, Queue> queues_;
  std::unordered_set<EventId> events_;
  std::vector<EventId> spare_events_;
  std::vector<PendingCopy> pending_copies_;
  std::vector<BufferId> unconfirmed_;
  BufferCache cache_;
  std::uint64_t keep_bytes_ = 0;
  std::optional<Mailbox> mailbox_;
  // what connecting to an mailbox came to
  std::vector<std::pair<Mailbox, Result<PeerId>>> peers_;
  std::unordered_map<PeerMessageId, std::uint64_t> awaited_;  // sequences of receives
  std::deque<std::pair<FftPlan, PlanId>> plans_;
  std::uint64_t planned_bytes_ = 0;  // what plans_ count for
  std::unordered_map<PlanId, std::pair<std::uint64_t, std::uint64_t>> plan_bytes_;  // input, output
};

}  // namespace ob::client
