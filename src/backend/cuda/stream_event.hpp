#pragma once
// Marks in streams of a device, which others wait for.

#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "base/status.hpp"

namespace ob::cuda {

class EventPool;

/// One recording of an event. Threads: any
class StreamEvent {
 public:
  /// Sleeps until the stream got there.   Errors: device_error
  Status wait() const;
  /// What comes behind in `stream` waits, not this thread.   Errors: device_error
  Status hold(cudaStream_t stream) const;
  /// Device time from `begin` to here; 0 if it cannot be told.
  /// @pre both were waited for, and are of one stream
  std::uint64_t ns_since(const StreamEvent& begin) const;

 private:
  friend class EventPool;
  StreamEvent(const Runtime& runtime, cudaEvent_t event) : runtime_(runtime), event_(event) {}
  const Runtime& runtime_;
  const cudaEvent_t event_;
};

/// Events of one device, which are used again.
/// Memory: goes after the last event   Threads: any
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  static std::shared_ptr<EventPool> create(const Gpu& gpu) {
    return std::shared_ptr<EventPool>(new EventPool(gpu));
  }
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// Marks where the stream is now.   @pre the device is current   Errors: device_error
  Result<std::shared_ptr<const StreamEvent>> record(cudaStream_t stream);

 private:
  explicit EventPool(const Gpu& gpu) : gpu_(gpu) {}
  Result<cudaEvent_t> take();
  void give_back(cudaEvent_t event);

  const Gpu gpu_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> idle_;
};

}  // namespace ob::cuda
