#pragma once
// Events in the streams of a device.

#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/gpu.hpp"
#include "base/status.hpp"

namespace ob::cuda {

class EventPool;

/// One recording of an event.   Threads: any
class StreamEvent {
 public:
  /// Sleeps until the stream has reached the event.   Errors: device_error
  Status wait() const;
  /// Makes later work of `stream` wait, but not this thread.   Errors: device_error
  Status hold(cudaStream_t stream) const;
  /// Returns the device time from `begin` to this event; 0 if it is unknown.
  /// @param begin an event of the same stream; both must have been waited for
  std::uint64_t ns_since(const StreamEvent& begin) const;

 private:
  friend class EventPool;
  StreamEvent(const Runtime& runtime, cudaEvent_t event) : runtime_(runtime), event_(event) {}
  const Runtime& runtime_;
  const cudaEvent_t event_;
};

/// A pool of events of one device.
/// Memory: must outlive its events   Threads: any
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  static std::shared_ptr<EventPool> create(const Gpu& gpu) {
    return std::shared_ptr<EventPool>(new EventPool(gpu));
  }
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// Records the present place of the stream; the device must be current.   Errors: device_error
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
