#pragma once
// What one client owns on a device: buffers, plans, queues, events, under the ids it gave them.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "daemon/memory/memory_account.hpp"
#include "daemon/memory/memory_share.hpp"
#include "daemon/session/plan_cache.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

class Mailbox;
class Mailboxes;
class PeerLink;
class Route;
class StagedWriter;

/// A client's queue. Its commands are numbered from 1; `reached` trails `submitted`.
/// Threads: all by the connection that made the queue, but for the atomics (any) and what says
/// "answers"
struct SessionQueue {
  QueueId local;
  const void* owner = nullptr;  ///< the connection that made it and alone may use it
  std::uint64_t submitted = 0;
  /// submitted when the last reply or credit message was ordered
  std::uint64_t announced = 0;
  std::atomic<std::uint64_t> granted{0};  ///< commands whose credits were given back
  std::atomic<std::uint64_t> reached{0};  ///< commands known to be done
  Status failure;                         ///< first command that could not even be submitted
  std::uint64_t failed_sequence = 0;      ///< of failure; 0 if there is none
  Reservation memory;                     ///< of the host, for commands that wait
  std::shared_ptr<StagedWriter> writer;   ///< if the host cannot see the device's memory
  QueueId transfers;                      ///< of the device, for reads that pass through the host

  void fail(const Status& status, std::uint64_t sequence) {
    failure = status;
    failed_sequence = sequence;
  }
  /// The command of this wire sequence went to the device.
  void note_on_device(std::uint64_t sequence) noexcept {
    sequences_[++on_device_ % kRemembered].store(sequence, std::memory_order_relaxed);
  }
  /// Wire sequence of the first command that failed on the device; 0 if none did.
  /// Threads: answers, in the queue's order
  std::uint64_t failed_on_device(const QueueReport& report) noexcept {
    if (!report.status.ok() && device_failure_ == 0) {
      device_failure_ =
          sequences_[report.failed_command % kRemembered].load(std::memory_order_relaxed);
    }
    return device_failure_;
  }
  void forget_device_failure() noexcept { device_failure_ = 0; }

 private:
  // Answers come at least every kInitialCredits commands, so a failure is seen before its number is
  // overwritten.
  static constexpr std::size_t kRemembered = std::size_t{2} * wire::kInitialCredits;
  std::uint64_t on_device_ = 0;
  std::uint64_t device_failure_ = 0;  // answers
  std::array<std::atomic<std::uint64_t>, kRemembered> sequences_{};
};

/// Device memory that goes with its last holder: the session, an answer under way, a payload that
/// is arriving.
class DeviceBuffer {
 public:
  /// Errors: out_of_memory, of the account or the device
  static Result<std::shared_ptr<DeviceBuffer>> allocate(
      Device& device, const std::shared_ptr<MemoryAccount>& account, std::uint64_t size_bytes);
  ~DeviceBuffer() { (void)device_.free(local); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  const BufferId local;

 private:
  DeviceBuffer(Device& device, BufferId id, Reservation memory)
      : local(id), memory_(std::move(memory)), device_(device) {}

  const Reservation memory_;  // released after the buffer is freed
  Device& device_;
};

/// A command that uses a buffer.
struct BufferUse {
  std::shared_ptr<SessionQueue> queue;
  std::uint64_t command = 0;
  bool open() const noexcept { return queue->reached < command; }
};

/// A client's buffer, with the last command of each queue that uses it.
struct SessionBuffer {
  std::shared_ptr<DeviceBuffer> memory;  ///< nullptr if the allocation failed
  std::uint64_t size_bytes = 0;
  Status failure;  ///< of the allocation
  std::vector<BufferUse> uses;
};

/// What one session may have of a daemon that others use, too.
struct SessionLimits {
  std::uint64_t memory_bytes = UINT64_MAX;  ///< of the device, all its buffers together
  /// of the host: what queues remember, plans and digests; 0: as much as the device has, but at
  /// least 1 GiB
  std::uint64_t host_memory_bytes = 0;
};

/// Objects of one session. Ids come from the client and are checked; local ids never leave the
/// daemon.
/// Threads: any; a session may have several connections.
class Session {
 public:
  /// @param plans, share of the device   Memory: they and the device outlive the session
  /// @param user shares the device's time with others, whatever the number of sessions
  Session(Device& device, PlanCache& plans, MemoryShare& share, std::uint32_t device_index,
          const wire::Token& token, const std::string& user = {}, const SessionLimits& limits = {});
  /// Waits for the queues, then frees everything.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Device& device() const noexcept { return device_; }
  std::uint32_t device_index() const noexcept { return device_index_; }
  const wire::Token& token() const noexcept { return token_; }
  /// What it holds of the device's memory, against its limit.
  const std::shared_ptr<MemoryAccount>& memory() const noexcept { return memory_; }
  /// What it should hold of it between calls [bytes]: less the more sessions there are.
  std::uint64_t keep_bytes() const noexcept { return member_.keep_bytes(); }

  /// Errors of what makes objects: protocol_error if the id is taken (a client that forgets its own
  /// ids is broken), denied beyond the limits, else those of the device.
  Status create_queue(QueueId id, const void* owner);
  Status set_accuracy(QueueId id, const void* owner, Accuracy accuracy);
  /// Waits for the queue's commands. Errors: protocol_error if it is somebody else's.
  Status destroy_queue(QueueId id, const void* owner);
  void destroy_queues_of(const void* owner);
  /// nullptr if unknown.
  std::shared_ptr<SessionQueue> queue(QueueId id);
  /// The queue's writer, or its queue for transfers, made on first use.   Threads: its connection
  Result<std::shared_ptr<StagedWriter>> writer(SessionQueue& queue);
  Result<QueueId> transfers(SessionQueue& queue);

  Status allocate(BufferId id, std::uint64_t size_bytes);
  /// Takes the id for a buffer that could not be had: whoever uses it is told `failure`.
  Status allocate_broken(BufferId id, const Status& failure);
  void free(BufferId id);
  /// Without its uses.   Errors: invalid_argument if unknown; what its allocation failed with.
  Result<SessionBuffer> buffer(BufferId id);
  /// Notes that the queue's command number queue->submitted uses the buffer.
  Result<std::shared_ptr<DeviceBuffer>> use(BufferId id,
                                            const std::shared_ptr<SessionQueue>& queue);
  /// Forgets uses that are over; @returns those that are not.
  std::vector<BufferUse> open_uses(BufferId id);
  /// The same of buffers that are freed but still in use.
  std::vector<BufferUse> open_uses_of_freed();

  Status make_plan(PlanId id, const FftPlan& plan);
  void destroy_plan(PlanId id);
  /// Errors: invalid_argument if unknown; what making it failed with.
  Result<PlanId> plan(PlanId id);
  /// Something failed that a plan may be the reason of: no other session gets this one's plans.
  void doubt_plans();
  /// Gives up what plans that no session uses hold of the device.   @returns how many there were
  std::size_t drop_idle_plans() { return plan_cache_.drop_idle(); }

  /// What others deliver is taken from now on; the same mailbox until it is closed.
  Result<std::shared_ptr<Mailbox>> open_mailbox(Mailboxes& mailboxes);
  /// nullptr if it is not open.
  std::shared_ptr<Mailbox> mailbox();
  /// Nothing that others deliver lands afterwards.
  void close_mailbox();
  /// Errors: protocol_error if the id is taken; denied beyond the limit
  Status check_new_peer(PeerId id);
  Status add_peer(PeerId id, std::unique_ptr<Route> route);
  /// nullptr if unknown.
  std::shared_ptr<PeerLink> peer(PeerId id);
  void remove_peer(PeerId id);

  /// Memory of the host for something of this session's.   Errors: out_of_memory beyond the limit
  Result<Reservation> reserve_host(std::uint64_t size_bytes) {
    return MemoryAccount::reserve(host_memory_, size_bytes);
  }

  /// The local event, made on first mention.
  Result<EventId> event(EventId id);

 private:
  struct Plan {
    std::unique_ptr<const PlanCache::Plan> made;  ///< nullptr if making it failed
    Reservation memory;                           ///< of the host
    Status failure;
  };

  Status insert(BufferId id, SessionBuffer buffer);
  void destroy(const SessionQueue& queue);
  void leave_peers();
  Result<Plan> planned(const FftPlan& plan);

  Device& device_;
  PlanCache& plan_cache_;
  const MemoryShare::Member member_;
  const std::uint32_t device_index_;
  const wire::Token token_;
  const Account account_;
  const std::shared_ptr<MemoryAccount> memory_;
  const std::shared_ptr<MemoryAccount> host_memory_;
  std::mutex mutex_;
  std::unordered_map<QueueId, std::shared_ptr<SessionQueue>> queues_;
  std::unordered_map<BufferId, SessionBuffer> buffers_;
  std::vector<BufferUse> freed_uses_;
  std::unordered_map<PlanId, Plan> plans_;
  std::unordered_map<EventId, EventId> events_;
  std::mutex peer_mutex_;  // of both below
  std::shared_ptr<Mailbox> mailbox_;
  std::unordered_map<PeerId, std::shared_ptr<PeerLink>> peers_;
};

}  // namespace ob::daemon
