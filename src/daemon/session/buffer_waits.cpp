#include "daemon/session/buffer_waits.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace ob::daemon {
namespace {

struct CountedGate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
};

}  // namespace

Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses) {
  for (const BufferUse& use : uses) {
    auto gate = std::make_shared<CountedGate>();
    // The queue may be waiting for its client to take replies.
    OB_RETURN_IF_ERROR(client.channel->replies().flush());
    const Status asked = client.session->device().on_reached(
        use.queue->local, false, [gate, use](const QueueReport&) {
          use.queue->reach(use.command);
          const std::lock_guard lock(gate->mutex);
          gate->open = true;
          gate->opened.notify_one();
        });
    if (!asked.ok()) continue;  // the queue was destroyed, which waited for it
    std::unique_lock lock(gate->mutex);
    while (!gate->opened.wait_for(lock, kPeerCheckInterval, [&] { return gate->open; })) {
      OB_RETURN_IF_ERROR(client.channel->check_peer());
    }
  }
  return {};
}

}  // namespace ob::daemon
