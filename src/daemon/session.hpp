#pragma once
// What one client owns on a device: buffers, plans, queues, events, under the ids it gave them.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// A client's queue. Its commands are numbered from 1; `reached` trails `submitted`.
/// Threads: commands are submitted by the one connection that uses the queue; reached and granted by any.
struct SessionQueue {
  QueueId local;
  std::uint64_t submitted = 0;
  std::uint64_t announced = 0;               ///< submitted when the last reply or credit message was ordered
  std::atomic<std::uint64_t> granted{0};     ///< commands whose credits were given back
  std::atomic<std::uint64_t> reached{0};     ///< commands known to be done
  Status failure;                            ///< first command that could not even be submitted
  std::uint64_t failed_sequence = 0;
};

/// A client's buffer, with the last command of each queue that uses it.
struct SessionBuffer {
  BufferId local;
  std::uint64_t size_bytes = 0;
  struct Use {
    std::shared_ptr<SessionQueue> queue;
    std::uint64_t command = 0;
  };
  std::vector<Use> uses;
};

/// Objects of one session. Ids come from the client and are checked; local ids never leave the daemon.
/// Threads: any; a session may have several connections.
class Session {
 public:
  Session(Device& device, std::uint32_t device_index, const wire::Token& token);
  /// Waits for the queues, then frees everything.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Device& device() const noexcept { return device_; }
  std::uint32_t device_index() const noexcept { return device_index_; }
  const wire::Token& token() const noexcept { return token_; }

  /// Errors: protocol_error if the id is taken (a client that forgets its own ids is broken).
  Status create_queue(QueueId id);
  void destroy_queue(QueueId id);
  /// nullptr if unknown.
  std::shared_ptr<SessionQueue> queue(QueueId id);

  Status allocate(BufferId id, std::uint64_t size_bytes);
  void free(BufferId id);
  /// Errors: invalid_argument if unknown.
  Result<SessionBuffer> buffer(BufferId id);
  /// Notes that the queue's command number queue->submitted uses the buffer; returns its local id.
  Result<BufferId> use(BufferId id, const std::shared_ptr<SessionQueue>& queue);
  /// Forgets uses that are over; @returns those that are not.
  std::vector<SessionBuffer::Use> open_uses(BufferId id);

  Status make_plan(PlanId id, const FftPlan& plan);
  void destroy_plan(PlanId id);
  Result<PlanId> plan(PlanId id);

  /// The local event, made on first mention.
  Result<EventId> event(EventId id);

 private:
  Device& device_;
  const std::uint32_t device_index_;
  const wire::Token token_;
  std::mutex mutex_;
  std::unordered_map<QueueId, std::shared_ptr<SessionQueue>> queues_;
  std::unordered_map<BufferId, SessionBuffer> buffers_;
  std::unordered_map<PlanId, PlanId> plans_;
  std::unordered_map<EventId, EventId> events_;
};

}  // namespace ob::daemon
