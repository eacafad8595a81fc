#pragma once
// The objects behind the handles. Each keeps its device open.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/outcome.hpp"
#include "api/peer_copies.hpp"
#include "client/proxy.hpp"
#include "client/shared_device.hpp"
#include "device/device.hpp"

namespace ob::api {

using Deadline = std::chrono::steady_clock::time_point;

/// A device of this process or of a daemon.   Threads: any
class OpenDevice {
 public:
  /// @param remote the same device if it is behind a daemon, else nullptr
  OpenDevice(std::unique_ptr<Device> device, client::SharedDevice* remote, bool big_endian)
      : device_(std::move(device)), remote_(remote), big_endian_(big_endian), copies_(remote) {}

  Device& operator*() const noexcept { return *device_; }
  Device* operator->() const noexcept { return device_.get(); }
  /// Nullptr if the device is in this process.
  client::SharedDevice* remote() const noexcept { return remote_; }
  bool big_endian() const noexcept { return big_endian_; }
  PeerCopies& copies() noexcept { return copies_; }
  /// Errors: unsupported, with the reason
  Status runs_kernels() const { return device_->runs_kernels(); }

  /// Queues that wait for events on behalf of a thread. They end with the device, and the answer to
  /// a mark may come later.   Threads: any
  class Watches {
   public:
    std::optional<QueueId> take();
    /// @pre the queue is idle and has not failed
    void give_back(QueueId watch);

   private:
    std::mutex mutex_;
    std::vector<QueueId> idle_;
  };
  const std::shared_ptr<Watches>& watches() const noexcept { return watches_; }
  /// Returns an idle watch, or a new one.
  Result<QueueId> take_watch();

  /// Returns the proxy of this process, and keeps it as long as the device is open.
  Result<std::shared_ptr<client::Proxy>> proxy();

 private:
  std::mutex mutex_;
  std::shared_ptr<client::Proxy> proxy_;  // outlives the device, whose queues post to it
  const std::unique_ptr<Device> device_;
  client::SharedDevice* const remote_;
  const bool big_endian_;
  PeerCopies copies_;
  const std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
};

using DevicePtr = std::shared_ptr<OpenDevice>;

/// The callbacks of an object that are under way.   Threads: any
class PendingCallbacks {
 public:
  void begin();
  void end();
  /// Waits until all have run. A callback must not wait for itself: returns at once on the thread
  /// that runs them.
  void wait();

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::condition_variable ended_;
};

/// The calls of a queue that have not been reported yet, and its callbacks. Callbacks hold it, and
/// not the queue.
/// Threads: any
class QueueRecord {
 public:
  /// @param name of a routine or kernel
  void note_call(std::uint64_t command, std::string_view name);
  void forget_calls();
  /// Returns the failure in a report, with the routine of the command that failed.
  Outcome outcome_of(const QueueReport& report) const;

  PendingCallbacks& callbacks() noexcept { return callbacks_; }

 private:
  mutable std::mutex mutex_;
  // The calls and launches that may have failed: numbers of the commands, and names.
  std::vector<std::pair<std::uint64_t, std::string_view>> calls_;
  std::set<std::string, std::less<>> names_;  // all that calls_ has referred to
  PendingCallbacks callbacks_;
};

/// Writes a report and its failure to `result`, whose struct_bytes stays.
void describe(const QueueReport& report, const Outcome& outcome, ob_report& result) noexcept;

/// Threads: owner of a QueueUse only, except the constructor and the destructor
class Queue {
 public:
  Queue(DevicePtr from, QueueId queue) : device(std::move(from)), id(queue) {}
  /// Waits for the commands and the callbacks.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const DevicePtr device;
  const QueueId id;

  /// Notes a command that was handed over.   @param name of a routine or kernel, else empty
  void count(std::string_view name = {});
  /// Copies elements to memory that lives until the command that is handed over next has run.
  /// Returns the place of the packed copies.
  Layout capture(const Layout& from);
  std::uint64_t captured_bytes() const noexcept { return captured_bytes_; }
  /// Returns an event that the copies of this queue to and from others record.
  Result<EventId> copied();
  /// Waits for the queue. Returns nothing if the deadline passes first.
  std::optional<QueueReport> await(bool clear, Deadline deadline);
  Outcome outcome_of(const QueueReport& report) const { return record_->outcome_of(report); }
  /// Forgets the names for outcome_of(), when the failure of a report is known and cleared.
  void forget_calls() { record_->forget_calls(); }
  /// Lets the proxy call `done` when the queue is here, but not before `*released` is true: `done`
  /// may use the queue, so the use of this thread must have ended.
  Status call_back(void (*done)(void* user, const ob_report* report), void* user,
                   std::shared_ptr<const std::atomic<bool>> released);

 private:
  friend class QueueUse;
  std::atomic<bool> in_use_{false};
  std::uint64_t commands_ = 0;
  EventId copied_;
  const std::shared_ptr<QueueRecord> record_ = std::make_shared<QueueRecord>();
  std::vector<std::unique_ptr<std::byte[]>> captured_;
  std::uint64_t captured_bytes_ = 0;
};

struct Buffer {
  Buffer(DevicePtr from, BufferId buffer, std::uint64_t bytes)
      : device(std::move(from)), id(buffer), size_bytes(bytes) {}
  ~Buffer() { (void)(*device)->free(id); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const DevicePtr device;
  const BufferId id;
  const std::uint64_t size_bytes;
};

/// The clocks of an event's last record. The answer to a mark may come after the event's end.
/// Threads: any
class RecordClock {
 public:
  /// Notes a record.   @returns its number
  std::uint64_t begin();
  void note(std::uint64_t record, const QueueMark& mark);
  /// Returns the clock of the last record [ns].
  /// Errors: invalid_argument without one; deadline_exceeded if it is not done; that of a lost
  /// connection
  Result<std::uint64_t> last() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t clock_ns_ = 0;
  Status lost_;
};

/// A descriptor that polls readable once a record is done.   Threads: any
class EventSignal {
 public:
  /// Errors: unavailable if the process has no more descriptors
  static Result<std::shared_ptr<EventSignal>> create();
  ~EventSignal();
  EventSignal(const EventSignal&) = delete;
  EventSignal& operator=(const EventSignal&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  /// Takes the signal back until set() gets the returned number.
  std::uint64_t arm();
  /// Signals, unless the signal was armed again.   @param record the last one that is known to be
  /// done
  void set(std::uint64_t armed, std::uint64_t record);
  /// True if set() has told that the record is done.
  bool is_done(std::uint64_t record);

 private:
  explicit EventSignal(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
  std::mutex mutex_;
  std::uint64_t armed_ = 0;
  std::uint64_t done_ = 0;
};

/// Threads: any
class Event {
 public:
  /// @param timed true: records note the device's clock
  Event(DevicePtr from, EventId event, bool timed)
      : device(std::move(from)),
        id(event),
        clock_(timed ? std::make_shared<RecordClock>() : nullptr) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const DevicePtr device;
  const EventId id;

  Status record(QueueId queue);
  /// Lets the last message of the queue record the event.
  Status record_transfer(QueueId queue);
  /// Holds a queue, of this device or another, until the last record is done.
  /// Errors: unsupported for a queue that waits for no other device
  Status hold(OpenDevice& other, QueueId queue);
  /// Waits for the last record.   Errors: deadline_exceeded if the deadline passes first
  Status await(Deadline deadline);
  /// Returns a descriptor that polls readable once the last record is done. The event owns it.
  Result<int> descriptor();
  /// Returns the device's clock at the last record [ns].
  /// Errors: as RecordClock::last(); invalid_argument if the event is not timed
  Result<std::uint64_t> clock() const;

 private:
  // A queue of the device that waits for a record.
  struct Watch {
    QueueId queue;
    std::uint64_t record = 0;
  };
  Result<Watch> watch_last_record();
  Status open_when_done(std::shared_ptr<Gate> gate);

  std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::vector<Watch> watches_;  // those whose waiters have left
  std::shared_ptr<EventSignal> signal_;
  const std::shared_ptr<RecordClock> clock_;  // nullptr: not timed
};

struct Plan {
  Plan(DevicePtr from, PlanId plan, const FftPlan& made)
      : device(std::move(from)), id(plan), shape(made) {}
  ~Plan() { (void)(*device)->destroy_plan(id); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const DevicePtr device;
  const PlanId id;
  const FftPlan shape;
};

/// Returns the end of a wait of `timeout_ms`.   Errors: invalid_argument below OB_FOREVER
Result<Deadline> deadline_after(std::int64_t timeout_ms);

}  // namespace ob::api
