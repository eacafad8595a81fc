#include "backend/cuda/stream_event.hpp"

namespace ob::cuda {

Status StreamEvent::wait() const {
  return runtime_.check(runtime_.cudaEventSynchronize(event_), "waiting for the device");
}

Status StreamEvent::hold(cudaStream_t stream) const {
  return runtime_.check(runtime_.cudaStreamWaitEvent(stream, event_, 0),
                        "waiting for another queue");
}

std::uint64_t StreamEvent::ns_since(const StreamEvent& begin) const {
  float milliseconds = 0;
  const cudaError_t result = runtime_.cudaEventElapsedTime(&milliseconds, begin.event_, event_);
  if (!runtime_.check(result, "asking for a time").ok() || !(milliseconds > 0)) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

EventPool::~EventPool() {
  if (idle_.empty() || !gpu_.make_current().ok()) return;
  for (const cudaEvent_t event : idle_) (void)gpu_.runtime().cudaEventDestroy(event);
}

Result<std::shared_ptr<const StreamEvent>> EventPool::record(cudaStream_t stream) {
  OB_ASSIGN_OR_RETURN(const cudaEvent_t event, take());
  std::shared_ptr<const StreamEvent> made(new StreamEvent(gpu_.runtime(), event),
                                          [pool = shared_from_this()](const StreamEvent* gone) {
                                            pool->give_back(gone->event_);
                                            delete gone;
                                          });
  OB_RETURN_IF_ERROR(
      gpu_.runtime().check(gpu_.runtime().cudaEventRecord(event, stream), "marking a stream"));
  return made;
}

Result<cudaEvent_t> EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const cudaEvent_t event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  // Waiting threads sleep, because the network needs the cores.
  cudaEvent_t event = nullptr;
  OB_RETURN_IF_ERROR(gpu_.runtime().check(
      gpu_.runtime().cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "making an event"));
  return event;
}

void EventPool::give_back(cudaEvent_t event) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(event);
}

}  // namespace ob::cuda
