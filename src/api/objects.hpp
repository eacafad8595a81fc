#pragma once
// The objects behind the handles. Each keeps its device open.

#include <atomic>
#include <chrono>
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
#include "client/shared_device.hpp"
#include "device/device.hpp"

namespace ob::api {

using Deadline = std::chrono::steady_clock::time_point;

/// A device of this process or of a daemon.   Threads: any
class OpenDevice {
 public:
  /// @param remote the same device if it is behind a daemon, else nullptr
  OpenDevice(std::unique_ptr<Device> device, client::SharedDevice* remote, bool big_endian)
      : device_(std::move(device)), remote_(remote), big_endian_(big_endian) {}

  Device& operator*() const noexcept { return *device_; }
  Device* operator->() const noexcept { return device_.get(); }
  /// Nullptr if the device is in this process.
  client::SharedDevice* remote() const noexcept { return remote_; }
  bool big_endian() const noexcept { return big_endian_; }
  /// Errors: unsupported, with the reason
  Status runs_kernels() const;

  /// Returns a queue that waits for events on behalf of a thread; give_back_watch() returns it.
  Result<QueueId> take_watch();
  /// @pre the queue is idle and has not failed
  void give_back_watch(QueueId watch);

 private:
  const std::unique_ptr<Device> device_;
  client::SharedDevice* const remote_;
  const bool big_endian_;
  std::mutex mutex_;
  std::vector<QueueId> idle_watches_;  // they end with the device
};

using DevicePtr = std::shared_ptr<OpenDevice>;

/// Threads: owner of a QueueUse only, except the constructor and the destructor
class Queue {
 public:
  Queue(DevicePtr from, QueueId queue) : device(std::move(from)), id(queue) {}
  /// Waits for the commands.
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
  /// Waits for the queue. Returns nothing if the deadline passes first.
  std::optional<QueueReport> await(bool clear, Deadline deadline);
  /// Returns the failure in a report, with the routine of the command that failed.
  Outcome outcome_of(const QueueReport& report) const;

 private:
  friend class QueueUse;
  std::atomic<bool> in_use_{false};
  std::uint64_t commands_ = 0;
  // The calls and launches since the last await(): numbers of the commands, and names.
  std::vector<std::pair<std::uint64_t, std::string_view>> calls_;
  std::set<std::string, std::less<>> names_;  // all that calls_ has referred to
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

/// Threads: any
class Event {
 public:
  Event(DevicePtr from, EventId event) : device(std::move(from)), id(event) {}
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const DevicePtr device;
  const EventId id;

  Status record(QueueId queue);
  /// Waits for the last record.   Errors: deadline_exceeded if the deadline passes first
  Status await(Deadline deadline);

 private:
  // A queue of the device that waits for a record.
  struct Watch {
    QueueId queue;
    std::uint64_t record = 0;
  };
  Result<Watch> watch_last_record();

  std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::vector<Watch> watches_;  // those whose waiters have left
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
