#include "api/queue_use.hpp"

#include "api/handles.hpp"

namespace ob::api {

Result<QueueUse> QueueUse::begin(ob_queue handle) {
  OB_ASSIGN_OR_RETURN(auto queue, find<Queue>(handle));
  if (queue->in_use_.exchange(true, std::memory_order_acquire)) {
    return Status(Code::invalid_argument,
                  "the queue is in use by another thread (the order of commands would be chance); "
                  "give each thread a queue");
  }
  return QueueUse(std::move(queue));
}

}  // namespace ob::api
