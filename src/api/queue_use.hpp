#pragma once

#include <memory>
#include <utility>

#include "api/objects.hpp"
#include "base/status.hpp"
#include "outboard/device.h"

namespace ob::api {

/// The use of a queue by one thread.
class QueueUse {
 public:
  /// Errors: those of find(); invalid_argument if another thread uses the queue
  static Result<QueueUse> begin(ob_queue handle);
  QueueUse(QueueUse&& other) noexcept = default;
  ~QueueUse() {
    if (queue_ != nullptr) queue_->in_use_.store(false, std::memory_order_release);
  }

  Queue& operator*() const noexcept { return *queue_; }
  Queue* operator->() const noexcept { return queue_.get(); }

 private:
  explicit QueueUse(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  std::shared_ptr<Queue> queue_;
};

/// Errors: invalid_argument on the thread that runs callbacks   @param function for the message
Status check_may_wait(const char* function);

}  // namespace ob::api
