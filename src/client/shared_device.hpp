#pragma once
// A remote device for any number of threads. Its session has a connection for objects and one for
// each queue, so that a thread that waits for its queue holds up no other (docs/wire.md, section
// 3). Over shared memory, data is copied straight into and out of large buffers where the order of
// commands permits it; messages carry all other data.

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/event_numbers.hpp"
#include "client/queue_progress.hpp"
#include "client/session_connection.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"
#include "device/peering.hpp"

namespace ob::client {

/// Commands of different connections have no order between them, so the first use of an object
/// waits until the daemon has read the command that made it; a wait for an event, until it has read
/// the record; the end of an object, until it has read the uses. Each costs a round trip unless a
/// synchronize has told it before.
/// After the loss of one connection all commands fail at once, with the same words. The proxy looks
/// after the connections for which no thread waits: it sends, receives and notices a dead daemon.
/// A write goes straight into a mapped buffer if no earlier command that uses the buffer may still
/// be under way, and else by message. A read of a mapped buffer runs at once if its queue is idle;
/// else it is left to the thread that waits for the queue, or becomes a message when a command of
/// the queue follows.
/// Threads: any, as Device
class SharedDevice final : public Device, private ProxyClient {
 public:
  /// Queues beyond this number share connections: there, a wait for one queue also holds up the
  /// threads that use the other.
  static constexpr std::size_t kMostQueueConnections = 8;

  /// A copy of so many bytes maps its buffer. A smaller one costs less as a message than the
  /// mapping, but uses one that is there.
  static constexpr std::uint64_t kLeastMappedBytes = 128 << 10;

  /// Errors: those of Connection::open()
  /// @param least_mapped_bytes another limit, for tests
  static Result<std::unique_ptr<SharedDevice>> open(
      const std::string& address, const ConnectionConfig& config = {},
      std::uint64_t least_mapped_bytes = kLeastMappedBytes);

  ~SharedDevice() override;

  const DeviceInfo& info() const noexcept override { return info_; }
  /// Ignores the account: the daemon knows the client.
  Result<QueueId> create_queue(const Account& account = {}) override;
  Status destroy_queue(QueueId queue) override;
  Status set_accuracy(QueueId queue, Accuracy accuracy) override;
  /// Does not wait: the commands that use the buffer fail if it could not be allocated.
  Result<BufferId> allocate(std::uint64_t size_bytes, const Account& owner = {}) override;
  Status free(BufferId buffer) override;
  /// Maps the buffer when it is first asked for.
  std::byte* host_view(BufferId buffer) noexcept override;
  Result<SegmentView> segment(BufferId buffer) override;
  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) override;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Status fill(QueueId queue, BufferId buffer, const Region& region,
              std::span<const std::byte> element) override;
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override;
  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  Status runs_kernels() override;
  std::uint32_t kernel_kinds() override { return main_->connection().kernels().kinds; }
  /// Does not wait. `built` runs as `done` of mark().
  Result<ModuleId> load_module(ModuleSource source, std::function<void(const ModuleReport&)> built,
                               const Account& account = {}) override;
  Status unload_module(ModuleId module) override;
  Status launch(QueueId queue, const KernelLaunch& launch) override;
  Result<EventId> create_event() override;
  Status destroy_event(EventId event) override;
  Status record(QueueId queue, EventId event) override;
  Status wait(QueueId queue, EventId event) override;
  /// Lets the proxy release the queue when the gate opens: a message from this process.
  /// Errors: as wait(); unavailable if the daemon takes too few connections
  Status hold(QueueId queue, std::shared_ptr<const Gate> gate) override;
  QueueReport synchronize(QueueId queue) override;
  std::optional<QueueReport> await(QueueId queue, bool clear,
                                   transport::Deadline deadline) override;
  /// Waits for the queue.
  Status on_reached(QueueId queue, bool clear,
                    std::function<void(const QueueReport&)> done) override;

  /// Ends the session, because its lease is over. All commands fail with `fenced` from now on.
  void fence();

  /// Does not wait. `done` runs on the thread that receives the answer, the proxy or one that
  /// waits, and must not use the device. If the connection is lost, it gets that failure.
  Status mark(QueueId queue, std::function<void(const QueueMark&)> done) override;

  // --- other devices

  /// False if the daemon says that it connects to no others (if it was asked about kernels).
  bool connects_to_others() const noexcept {
    return (main_->connection().kernels().flags & wire::kNoPeers) == 0;
  }
  /// Returns the address at which the session receives peer messages; the first call opens it.
  Result<Mailbox> mailbox();
  /// Fails the receives that wait for a message. The next mailbox() opens another one.
  Status close_mailbox();
  /// True if a device that sent to the mailbox was lost: the mailbox accepts nothing any more.
  bool mailbox_is_broken() const noexcept {
    return mailbox_broken_->load(std::memory_order_acquire);
  }
  /// Connects to another device's mailbox.
  /// Errors: unavailable, unsupported, denied or invalid_argument if it cannot be reached
  Result<PeerId> connect(const Mailbox& mailbox);
  Status disconnect(PeerId peer);
  /// As Peering::send() and receive().
  /// @param counted false: the command has no number in its queue; it is a part of the next one
  /// Errors: also the failure of a queue that skips the command
  Status send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
              const Region& region, bool counted);
  Status receive(QueueId queue, PeerMessageId peer_message, BufferId buffer, const Region& region,
                 PeerId next, bool counted);
  /// Records the event when the last message of the queue has arrived, or is sent and its region
  /// may change. A queue that waits for it fails if the message has failed.
  Status record_transfer(QueueId queue, EventId event);
  /// Returns the failure for which the queue skips commands, as far as this side knows it.
  Status failure(QueueId queue);

  /// The use that a grant permits.
  struct GrantTerms {
    BufferId buffer;
    std::uint64_t offset_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t may = 0;  ///< wire::kMayRead, wire::kMayWrite
    std::uint32_t seconds = 0;
    std::uint32_t uses = 0;  ///< 0: any number
    std::string user;        ///< empty: everybody with the secret
  };
  /// A grant's number, and the address at which others use it: the access key is its secret.
  struct MadeGrant {
    GrantId id;
    Mailbox address;
  };
  /// Lets others use a range of a buffer.   Errors: invalid_argument, denied
  Result<MadeGrant> create_grant(const GrantTerms& terms);
  /// When it returns, nobody writes to the range any more.
  Status revoke_grant(GrantId grant);
  /// Holds the queue until so many puts have landed in a grant.
  Status await_grant(QueueId queue, GrantId grant, std::uint64_t landed);
  /// Copies bytes to or from the range of a grant. The queue waits until they have landed.
  /// Errors, in the queue: denied, invalid_argument, unavailable
  Status put(QueueId queue, const Mailbox& grant, std::uint64_t grant_offset_bytes, BufferRef from,
             std::uint64_t size_bytes) {
    return copy_granted(queue, wire::Opcode::put, grant, grant_offset_bytes, from, size_bytes);
  }
  Status get(QueueId queue, const Mailbox& grant, std::uint64_t grant_offset_bytes, BufferRef to,
             std::uint64_t size_bytes) {
    return copy_granted(queue, wire::Opcode::get, grant, grant_offset_bytes, to, size_bytes);
  }

  /// True if the host of the device has that byte order.
  bool big_endian() const noexcept { return big_endian_; }
  /// The copies straight into or out of mapped buffers so far; other copies are messages.
  std::uint64_t mapped_copies() const noexcept { return mapped_copies_; }
  /// Sends the buffered commands of the queue, so that the daemon starts them.
  Status flush(QueueId queue);

 private:
  using ConnectionPtr = std::shared_ptr<SessionConnection>;
  using SegmentPtr = std::shared_ptr<const MappedSegment>;
  using ProgressPtr = std::shared_ptr<QueueProgress>;
  // A command of a queue.
  struct Use {
    ConnectionPtr connection;
    ProgressPtr progress;
    std::uint64_t sequence = 0;
  };
  // A queue that waits, with its command `sequence`, for a command of another one.
  struct Hold {
    std::uint64_t sequence = 0;
    ProgressPtr other;
    std::uint64_t other_sequence = 0;
  };
  // The same, while data that the other queue has read may not have arrived.
  struct Reads {
    std::uint64_t sequence = 0;
    ConnectionPtr connection;  // another one
    std::uint64_t other_sequence = 0;
  };
  struct Queue {
    ConnectionPtr connection;
    ProgressPtr progress;
    std::vector<Hold> holds;  // the last one for each other queue
    std::vector<Reads> reads;
    std::uint64_t outside = 0;  // its last command that waits for what others than queues do
  };
  // A buffer, a plan or a module.
  struct Object {
    std::uint64_t made = 0;  // the sequence of its command on the main connection
    std::uint64_t size_bytes = 0;
    std::vector<Use> uses;  // the last use of each queue; may be over
    SegmentPtr segment;     // nullptr: not mapped
    bool cannot_map = false;
  };
  using Objects = std::unordered_map<std::uint64_t, Object>;
  struct Named {  // an object that a command uses
    Objects& objects;
    std::uint64_t id;
    const char* kind;  // for messages; nullptr: an operand that the routine may not refer to
  };

  SharedDevice(std::string address, const ConnectionConfig& config, ConnectionPtr main,
               std::shared_ptr<Proxy> proxy, std::uint64_t least_mapped_bytes);
  Clock::time_point tend(Clock::time_point now, std::vector<pollfd>& sources) override;
  std::vector<ConnectionPtr> all_connections() const;
  Status usable() const;
  Status note(Status status);
  Status fail(const Status& failure);
  QueueReport note(QueueReport report);
  Result<ConnectionPtr> open_connection();
  Result<ConnectionPtr> connection_for_queue();
  Result<ConnectionPtr> connection_of(QueueId queue) const;
  Result<Queue> find_queue(QueueId queue) const;
  void note_hold(QueueId queue, const Hold& hold);
  void note_outside(QueueId queue, std::uint64_t sequence);
  bool waits_outside(QueueId queue) const;
  void note_passed(QueueId queue, bool successful);
  void note_reads(QueueId queue, std::uint64_t sequence, const Use& recorded);
  Status wait_reads(QueueId queue);
  std::function<void(const QueueMark&)> after_reads(
      QueueId queue, std::function<void(const QueueMark&)> done) const;
  template <class Message>
  Result<std::uint64_t> make(Objects& objects, wire::Opcode opcode, std::uint64_t id,
                             std::uint64_t size_bytes, const Message& message);
  Status end(Objects& objects, std::uint64_t id, const char* kind, wire::Opcode opcode,
             std::span<const std::byte> body);
  Status wait_made(std::span<const Named> uses);
  void note_uses(std::span<const Named> uses, const Use& use);
  Result<SegmentPtr> map(BufferId buffer);
  SegmentPtr segment_for(BufferId buffer, const Region& region, bool& used);
  Result<bool> write_mapped(QueueId queue, BufferId buffer, const Region& region,
                            const Layout& source);
  Result<bool> read_mapped(QueueId queue, BufferId buffer, const Region& region,
                           const Layout& destination);
  template <class Send>
  Status submit(QueueId queue, std::span<const Named> uses, Send send);
  Status record_by(QueueId queue, EventId event, wire::Opcode opcode, const SubmitManner& manner);
  Status submit_transfer(QueueId queue, BufferId buffer, wire::Opcode opcode,
                         std::span<const std::byte> body, bool counted);
  Status copy_granted(QueueId queue, wire::Opcode opcode, const Mailbox& grant,
                      std::uint64_t grant_offset_bytes, BufferRef here, std::uint64_t size_bytes);
  void watch_received(SessionConnection& connection) const;

  const std::shared_ptr<Proxy> proxy_;
  const std::string address_;
  ConnectionConfig config_;  // of further connections
  const ConnectionPtr main_;
  const DeviceInfo info_;
  const bool big_endian_;
  const std::uint64_t least_mapped_bytes_;
  const std::shared_ptr<std::atomic<bool>> mailbox_broken_ =
      std::make_shared<std::atomic<bool>>(false);
  std::mutex opening_;        // held while a queue gets its connection
  mutable std::mutex mutex_;  // guards all below; never held during a command
  std::vector<ConnectionPtr> connections_;
  std::unordered_map<QueueId, Queue> queues_;
  Objects buffers_;
  Objects plans_;
  Objects modules_;
  std::unordered_map<EventId, Use> events_;  // the last record
  std::unordered_set<EventId> transfers_;    // those that a message has recorded last
  EventNumbers event_numbers_;
  Status failure_;  // the first one that ended a connection
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> mapped_copies_{0};
};

template <class Send>
Status SharedDevice::submit(QueueId queue, std::span<const Named> uses, Send send) {
  OB_ASSIGN_OR_RETURN(const Queue to, find_queue(queue));
  OB_RETURN_IF_ERROR(wait_made(uses));
  const auto sent = to.connection->submit(queue, {}, send);
  if (!sent.ok()) return note(sent.status());
  if (*sent != 0) note_uses(uses, {to.connection, to.progress, *sent});
  return {};
}

}  // namespace ob::client
