#pragma once
// The objects of one client on a device (buffers, plans, queues, events, peers) under the client's
// ids.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "base/use_counter.hpp"
#include "daemon/io/daemon_counters.hpp"
#include "daemon/memory/device_buffer.hpp"
#include "daemon/memory/memory_share.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/peers/session_grants.hpp"
#include "daemon/peers/session_peers.hpp"
#include "daemon/session/plan_cache.hpp"
#include "daemon/session/session_gates.hpp"
#include "daemon/session/session_lease.hpp"
#include "daemon/session/session_modules.hpp"
#include "daemon/session/session_queue.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"
#include "device/memory_table.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// A client's buffer, with the last command of each queue that uses it.
struct SessionBuffer {
  std::shared_ptr<DeviceBuffer> memory;  ///< nullptr if the allocation failed
  std::uint64_t size_bytes = 0;
  Status failure;      ///< the result of the allocation
  Reservation record;  ///< host memory
  std::vector<BufferUse> uses;
};

/// The resources of a daemon that a session holds, each counted against the limits of the session
/// and of its user.
struct SessionAccounts {
  std::shared_ptr<ResourceAccount> memory;       ///< of the device [bytes]
  std::shared_ptr<ResourceAccount> host_memory;  ///< for queues, plans, digests, records [bytes]
  std::shared_ptr<ResourceAccount> threads;      ///< of queues and links
  std::shared_ptr<ResourceAccount> plans;
};

/// A device and the parts that its sessions share.   Memory: outlives the sessions
struct SessionDevice {
  Device& device;
  PlanCache& plans;
  MemoryShare& share;
  std::uint32_t index = 0;  ///< among the daemon's devices
  /// The counters of the device and of the daemon; nullptr: nobody reads them.
  std::shared_ptr<UseCounter> use = nullptr;
  std::shared_ptr<DaemonCounters> counters = nullptr;
};

/// Checks the ids, which come from the client. The device's ids never leave the daemon.
/// Threads: any; a session may have several connections.
class Session {
 public:
  /// @param user the proven one, who gets an equal share of the device's time, whatever the number
  ///             of sessions; 0: none, then all such sessions get the share of one user together
  /// @param holds_user_data false: its client can make anew what it holds
  /// @param lease its right to the device; nullptr: it needs none
  Session(const SessionDevice& device, const wire::Token& token, UserId user,
          SessionAccounts accounts, bool holds_user_data = false,
          std::unique_ptr<const SessionLease> lease = nullptr);
  /// Waits for the queues, then frees everything.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Device& device() const noexcept { return device_; }
  std::uint32_t device_index() const noexcept { return device_index_; }
  const wire::Token& token() const noexcept { return token_; }
  /// The session's right to its device; nullptr: it needs none.
  const SessionLease* lease() const noexcept { return lease_.get(); }
  /// Returns a function that is true once the gate has cut off the session; an empty one if the
  /// daemon is in no pool. It may outlive the session.
  std::function<bool()> over() const;
  /// Counts for the session's device and lease.
  const std::shared_ptr<UseCounter>& use() const noexcept { return use_; }
  DaemonCounters& counters() const noexcept { return *counters_; }
  /// True if the session must not end to make room for others.
  bool holds_user_data() const noexcept { return holds_user_data_; }
  /// Counts the device's memory that the session holds, against its limits.
  const std::shared_ptr<ResourceAccount>& memory() const noexcept { return accounts_.memory; }
  /// Returns the rest of the session's limit and of its user's, without memory that was freed and
  /// that no command uses any more [bytes].
  std::uint64_t room_bytes() {
    forget_released();
    return accounts_.memory->room();
  }
  /// Returns the memory that others must release before the user's share has room for a buffer
  /// [bytes].
  std::uint64_t missing_share(std::uint64_t size_bytes) const {
    return accounts_.memory->missing_share(counted_bytes(size_bytes));
  }
  /// Returns the memory that the session should hold between calls [bytes]. The part shrinks with
  /// the number of sessions.
  std::uint64_t keep_bytes() const {
    return std::min(member_.keep_bytes(), accounts_.memory->equal_part() / 2);
  }

  /// Errors, of everything that makes objects: protocol_error if the id is taken (a client that
  /// forgets its own ids is broken); denied beyond the limits; those of the device
  Status create_queue(QueueId id, const void* owner);
  Status set_accuracy(QueueId id, const void* owner, Accuracy accuracy);
  /// Waits for the queue's commands.   Errors: protocol_error if another connection made it
  Status destroy_queue(QueueId id, const void* owner);
  void destroy_queues_of(const void* owner);
  /// Lets the device skip and stop the work of a connection's queues (Device::abandon).
  void abandon_queues_of(const void* owner);
  /// The same for queues that wait at a gate, which nobody may open any more.
  void abandon_held_queues_of(const void* owner);
  /// Returns nullptr if unknown.
  std::shared_ptr<SessionQueue> queue(QueueId id);
  /// Returns the queue's writer, or its queue for transfers, made on first use with the host memory
  /// of a writer or a reader.   Errors: out_of_memory; those of the device
  /// Threads: the queue's connection
  Result<StagedWriter*> writer(SessionQueue& queue);
  Result<QueueId> transfers(SessionQueue& queue);

  Status allocate(BufferId id, std::uint64_t size_bytes);
  /// Takes the id for a buffer that could not be allocated. Commands that use it get `failure`.
  Status allocate_broken(BufferId id, const Status& failure);
  void free(BufferId id);
  /// Returns the buffer without its uses.   Errors: invalid_argument if unknown; those of its
  /// allocation
  Result<SessionBuffer> buffer(BufferId id);
  /// Notes that the queue's command number queue->submitted uses the buffer.
  Result<std::shared_ptr<DeviceBuffer>> use(BufferId id,
                                            const std::shared_ptr<SessionQueue>& queue);
  /// Forgets uses that are over, and returns the others.
  std::vector<BufferUse> open_uses(BufferId id);
  /// Does the same for buffers that are freed but still in use.
  std::vector<BufferUse> open_uses_of_freed();
  /// Releases freed memory from the session's account as far as the daemon knows that no command
  /// uses it any more.
  void forget_released();

  Status make_plan(PlanId id, const FftPlan& plan);
  void destroy_plan(PlanId id);
  /// Errors: invalid_argument if unknown; those of making it
  Result<PlanId> plan(PlanId id);
  /// Withdraws the session's plans from the cache, so that no other session gets them: one of them
  /// may have caused a failure.
  void withdraw_plans();
  /// Destroys the plans of the device that no session uses.   @returns their number
  std::size_t drop_idle_plans() { return plan_cache_.drop_idle(); }

  SessionPeers& peers() noexcept { return peers_; }
  SessionModules& modules() noexcept { return modules_; }

  /// Counts the session's host memory.
  const std::shared_ptr<ResourceAccount>& host_memory() const noexcept {
    return accounts_.host_memory;
  }
  /// Takes a thread of the session.   Errors: out_of_memory beyond the limits
  Result<Reservation> reserve_thread() { return ResourceAccount::reserve(accounts_.threads, 1); }
  /// Takes host memory of the session.   Errors: out_of_memory beyond the limits
  Result<Reservation> reserve_host(std::uint64_t size_bytes) {
    return ResourceAccount::reserve(accounts_.host_memory, size_bytes);
  }

  /// An event under the device's id.
  struct KnownEvent {
    EventId local;
    std::shared_ptr<const Gate> transfer;  ///< opens with the transfer that has recorded it last
  };
  /// Returns the event, made on first mention. `transfer` is empty if a queue has recorded it last.
  Result<KnownEvent> event(EventId id);
  /// Notes that a transfer, or with nullptr a queue, records the event.
  /// Errors: those of event()
  Result<EventId> record(EventId id, std::shared_ptr<const Gate> transfer);

  SessionGates& gates() noexcept { return gates_; }
  SessionGrants& grants() noexcept { return grants_; }

 private:
  struct Plan {
    std::unique_ptr<const PlanCache::Plan> made;  ///< nullptr if making it failed
    Reservation memory;                           ///< host memory of the plan
    Reservation count;                            ///< one plan
    Reservation record;                           ///< host memory
    Status failure;
  };

  struct Event {
    KnownEvent known;
    Reservation record;  // host memory
  };

  /// A freed buffer that counts until its commands are done.
  struct Freed {
    std::vector<BufferUse> uses;
    std::shared_ptr<const Reservation> memory;
  };

  Status insert(BufferId id, SessionBuffer buffer);
  void forget_uses();  // @pre mutex_ is held
  void destroy(SessionQueue& queue);
  Result<Plan> planned(const FftPlan& plan);
  Result<Reservation> reserve_record(const char* what);

  const std::unique_ptr<const SessionLease> lease_;  // ends when all else has been freed
  const std::shared_ptr<UseCounter> use_;
  const std::shared_ptr<DaemonCounters> counters_;
  Device& device_;
  PlanCache& plan_cache_;
  const MemoryShare::Member member_;
  const std::uint32_t device_index_;
  const wire::Token token_;
  const Account account_;
  const SessionAccounts accounts_;
  const bool holds_user_data_;
  std::mutex mutex_;
  std::unordered_map<QueueId, std::shared_ptr<SessionQueue>> queues_;
  std::unordered_map<BufferId, SessionBuffer> buffers_;
  std::vector<Freed> freed_;
  std::atomic<bool> has_freed_{false};
  std::unordered_map<PlanId, Plan> plans_;
  std::unordered_map<EventId, Event> events_;
  SessionGates gates_;
  SessionPeers peers_;
  SessionGrants grants_;
  SessionModules modules_;
};

}  // namespace ob::daemon
