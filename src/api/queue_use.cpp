#include "api/queue_use.hpp"

#include <string>

#include "api/handles.hpp"
#include "client/proxy.hpp"

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

Status check_may_wait(const char* function) {
  if (!client::Proxy::is_this_thread()) return {};
  return {Code::invalid_argument,
          std::string(function) +
              " waits, and a callback may not (its thread receives the answers); hand over "
              "commands there, and wait on another thread"};
}

}  // namespace ob::api
