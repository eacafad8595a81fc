#include "algorithms/exchange/device_queues.hpp"

#include <utility>

namespace ob::algorithms {

Result<DeviceQueues> DeviceQueues::open(Device& device) {
  DeviceQueues queues(device);
  for (QueueId* queue : {&queues.compute_, &queues.in_, &queues.out_, &queues.back_}) {
    OB_ASSIGN_OR_RETURN(*queue, device.create_queue());
  }
  OB_ASSIGN_OR_RETURN(queues.order_, device.create_event());
  return queues;
}

DeviceQueues::DeviceQueues(DeviceQueues&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      compute_(other.compute_),
      in_(other.in_),
      out_(other.out_),
      back_(other.back_),
      order_(other.order_),
      slots_(std::move(other.slots_)) {}

DeviceQueues::~DeviceQueues() {
  if (device_ == nullptr) return;
  try {
    for (const EventId event : slots_) {
      if (event) (void)device_->destroy_event(event);
    }
    if (order_) (void)device_->destroy_event(order_);
    for (const QueueId queue : {compute_, in_, out_, back_}) {
      if (queue) (void)device_->destroy_queue(queue);
    }
  } catch (...) {  // no memory to tell the device by: they go with the connection
  }
}

Status DeviceQueues::order(QueueId earlier, QueueId later) {
  // A queue that waits for an earlier record of an event is not held by later ones.
  OB_RETURN_IF_ERROR(device_->record(earlier, order_));
  return device_->wait(later, order_);
}

Status DeviceQueues::release(std::size_t slot) {
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  if (!slots_[slot]) {
    OB_ASSIGN_OR_RETURN(slots_[slot], device_->create_event());
  }
  return device_->record(compute_, slots_[slot]);
}

Status DeviceQueues::wait_slot(std::size_t slot) {
  if (slot >= slots_.size() || !slots_[slot]) return {};
  return device_->wait(in_, slots_[slot]);
}

Status DeviceQueues::finish() {
  Status first;
  // A failure on compute_ causes failures of the copies behind it, so it is reported first.
  for (const QueueId queue : {compute_, in_, out_, back_}) {
    const QueueReport report = device_->synchronize(queue);
    compute_ns_ += report.compute_ns;
    if (first.ok()) first = report.status;
  }
  return first;
}

}  // namespace ob::algorithms
