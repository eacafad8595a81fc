#pragma once
// One of the connections of a session that several threads share.

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/daemon_link.hpp"
#include "client/mapped_segment.hpp"
#include "client/proxy.hpp"
#include "client/queue_progress.hpp"
#include "client/remote_queues.hpp"
#include "transport/stream.hpp"

namespace ob::client {

/// A read of a mapped buffer. It is carried out by the thread that waits for its queue, or sent as
/// a message when another command of the queue follows.
struct MappedRead {
  BufferId buffer;
  Region region;
  Layout destination;
  std::shared_ptr<const MappedSegment> segment;
  std::atomic<std::uint64_t>* counter = nullptr;

  void run() const {
    copy(destination, Layout::matrix(segment->buffer(), region));
    ++*counter;
  }
};

/// The way in which a queue command is sent.
struct SubmitManner {
  bool always = false;  ///< even if the queue has failed before
  bool counted = true;  ///< has a number in its queue; false: a part of the command after it
};

/// Locks the connection for each command, and for the whole time of a wait: a thread that waits
/// drives the connection itself. The proxy looks after it at other times.
/// Threads: any
class SessionConnection final : private QueuePassListener {
 public:
  using MarkDone = std::function<void(const QueueMark&)>;
  using Built = std::function<void(const ModuleReport&)>;

  /// @param first_id the first number of its queues and objects, different for each connection
  SessionConnection(std::unique_ptr<Connection> connection, std::uint64_t first_id,
                    std::shared_ptr<Proxy> proxy);
  /// Announces a clean end if nothing is broken.
  ~SessionConnection() override;

  /// The connection, for what its handshake told.
  Connection& connection() noexcept { return link_.connection(); }
  /// Makes all commands and waits fail.
  void shut_down() noexcept { link_.connection().stream().shut_down(); }

  Result<QueueId> create_queue();
  Status destroy_queue(QueueId queue);
  Status set_accuracy(QueueId queue, Accuracy accuracy);

  /// Returns a number for a new object, never twice the same.
  std::uint64_t next_id();
  /// Sends a command that no queue executes. Returns its sequence.
  template <class Message>
  Result<std::uint64_t> command(wire::Opcode opcode, const Message& message) {
    wire::Body body;
    wire::encode(message, body);
    return command(opcode, body.bytes());
  }
  Result<std::uint64_t> command(wire::Opcode opcode, std::span<const std::byte> body);
  /// Sends a command of the queue with `send`, a Result<std::uint64_t>(Connection&) that returns
  /// its sequence. Returns this; 0 if the queue has failed before and the command is skipped.
  template <class Send>
  Result<std::uint64_t> submit(QueueId queue, const SubmitManner& manner, Send send) {
    const std::lock_guard lock(mutex_);
    OB_RETURN_IF_ERROR(send_reads(queue));
    OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue, manner.counted));
    if (!healthy && !manner.always) return std::uint64_t{0};
    auto sent = send(link_.connection());
    if (!sent.ok()) return link_.note(sent.status());
    if (*sent != 0) own_[queue].sent = *sent;
    leave_to_proxy();
    return sent;
  }
  /// Counts a command of the queue that sends nothing. Returns false if it is skipped.
  Result<bool> count(QueueId queue);
  /// Counts a read. Returns the sequence before which it is not over; 0 if nothing is left to do:
  /// it has run, because no command of the queue was under way, or is skipped.
  Result<std::uint64_t> read(QueueId queue, MappedRead read);
  /// Sends the buffered commands, and the reads of this queue.
  Status flush(QueueId queue);
  Status flush();
  /// Sends the reads of this buffer, before it is freed. Returns the last sequence of a queue.
  Result<std::uint64_t> send_reads_of(BufferId buffer);
  /// The progress of a queue of this connection.
  std::shared_ptr<QueueProgress> progress(QueueId queue);

  /// Returns when the daemon has read the command of this sequence. Other connections may then use
  /// what the command has made.   Cost: a round trip, unless this is known
  Status wait_read(std::uint64_t sequence);
  /// Returns when the data that commands up to this sequence read have arrived. The daemon must
  /// have sent them.   Errors: those of the connection
  Status wait_data(std::uint64_t sequence);
  /// The data that have arrived on this connection. They outlive it.
  DataArrivals& arrivals() noexcept { return *link_.connection().arrivals(); }
  std::shared_ptr<DataArrivals> shared_arrivals() noexcept { return link_.connection().arrivals(); }
  /// As Device::await(). The deadline does not bound the time that another thread holds the lock.
  std::optional<QueueReport> await(QueueId queue, bool clear, transport::Deadline deadline);
  /// As Device::mark(). `done` runs under the lock of the connection, on the thread that receives
  /// the answer, or with a failure when fail_marks() is called.
  Status mark(QueueId queue, MarkDone done);
  /// Sends a module. Returns its sequence. `built` is called as `done` of mark().
  Result<std::uint64_t> load_module(const wire::LoadModule& message,
                                    std::span<const std::byte> payload, Built built);
  /// Ends all marks and modules that have no answer yet.
  void fail_marks(const Status& failure);
  /// Returns the access key of the session's mailbox, which the first call opens.
  Result<wire::Token> open_mailbox();
  /// Connects to another mailbox.   Cost: up to 2 s if it cannot be reached
  Status connect_peer(const wire::ConnectPeer& peer);
  /// Makes a grant and returns its secret.
  Result<wire::Token> create_grant(const wire::CreateGrant& grant);
  /// Returns the failure of a queue, for which submit() skips commands.
  Status failure(QueueId queue);
  /// Calls `received` with the answers to receives, under the lock of the connection.
  void set_received_listener(Connection::ReceivedListener received) {
    link_.connection().set_received_listener(std::move(received));
  }
  /// Maps a buffer into this process.   Errors: unsupported; that of the buffer's allocation
  Result<MappedSegment> map(BufferId buffer, std::uint64_t size_bytes);

  /// Sends and receives what goes without waiting, unless a thread does. Returns the time of the
  /// next look, and adds the descriptors that tell of bytes.
  /// Threads: the proxy   Errors: those of the connection
  Result<transport::Deadline> tend(transport::Deadline now, std::vector<pollfd>& sources);

 private:
  struct Mark {
    QueueId queue;
    MarkDone done;
  };
  /// A wait by a thread that holds the lock.
  class Drive {
   public:
    explicit Drive(SessionConnection& connection) : connection_(connection) {
      connection_.driven_.store(true, std::memory_order_relaxed);
      connection_.proxy_knows_ = false;
    }
    ~Drive() {
      connection_.driven_.store(false, std::memory_order_relaxed);
      connection_.leave_to_proxy();
    }
    Drive(const Drive&) = delete;
    Drive& operator=(const Drive&) = delete;

   private:
    SessionConnection& connection_;
  };

  // The state of a queue beside its commands.
  struct OwnQueue {
    std::shared_ptr<QueueProgress> progress = std::make_shared<QueueProgress>();
    std::uint64_t sent = 0;         // the sequence of the last command
    std::vector<MappedRead> reads;  // the last commands of the queue

    bool is_under_way(std::uint64_t reached) const noexcept {
      return !reads.empty() || sent > reached;
    }
  };

  Status on_passed(const QueuePass&) override { return {}; }
  bool pass_unsent(QueueId queue);
  Status send_reads(QueueId queue);
  void note_read(std::uint64_t sequence) noexcept;
  void leave_to_proxy() noexcept;
  void take_mark(std::uint64_t sequence, const wire::Reached& reached);
  void take_module(std::uint64_t sequence, const ModuleReport& report);

  const std::shared_ptr<Proxy> proxy_;
  std::mutex mutex_;
  DaemonLink link_;
  RemoteQueues queues_;
  std::unordered_map<QueueId, OwnQueue> own_;
  std::atomic<std::uint64_t> read_{0};  // the daemon is known to have read up to here
  std::atomic<bool> driven_{false};     // a thread waits
  bool proxy_knows_ = false;            // the proxy looks again soon
  transport::Deadline unsent_seen_{};   // when the proxy last found commands that had not left
  std::unordered_map<std::uint64_t, Mark> marks_;     // without answer, by sequence
  std::unordered_map<std::uint64_t, Built> modules_;  // the same
};

}  // namespace ob::client
