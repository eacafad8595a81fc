#include "daemon/session/buffer_waits.hpp"

#include <chrono>
#include <memory>

namespace ob::daemon {
namespace {

// A queue that has come to a gate tells this, but wakes nobody.
constexpr std::chrono::milliseconds kHeldCheck{2};

}  // namespace

Status wait_for(Device& device, const std::vector<BufferUse>& uses,
                const std::function<Status()>& check) {
  for (const BufferUse& use : uses) {
    const auto done = std::make_shared<Gate>();
    const Status asked =
        device.on_reached(use.queue->local, false, [done, use](const QueueReport&) {
          use.queue->reach(use.command);
          done->open();
        });
    if (!asked.ok()) continue;  // the queue was destroyed, which waited for it
    while (!done->wait_for(kPeerCheckInterval)) OB_RETURN_IF_ERROR(check());
  }
  return {};
}

Status wait_for_earlier(Device& device, const std::vector<BufferUse>& uses,
                        const std::function<Status()>& check) {
  for (const BufferUse& use : uses) {
    std::shared_ptr<Gate> done;
    // Commands that a gate holds back may wait for the caller.
    while (use.open() && use.command < use.queue->holds.first()) {
      OB_RETURN_IF_ERROR(check());
      if (done == nullptr) {
        done = std::make_shared<Gate>();
        const auto reached = [done, use](const QueueReport&) {
          use.queue->reach(use.command);
          done->open();
        };
        if (!device.on_reached(use.queue->local, false, reached).ok()) break;  // destroyed
      }
      (void)done->wait_for(use.queue->holds.any() ? kHeldCheck : kPeerCheckInterval);
    }
  }
  return {};
}

Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses) {
  for (const BufferUse& use : uses) {
    // The queue may be waiting for its client to take replies.
    OB_RETURN_IF_ERROR(client.channel->replies().flush());
    OB_RETURN_IF_ERROR(
        wait_for(client.session->device(), {use}, [&] { return client.channel->check_peer(); }));
  }
  return {};
}

Status hold_queue(Device& device, const QueueCommand& command, std::shared_ptr<const Gate> gate) {
  const std::shared_ptr<SessionQueue>& queue = command.queue;
  queue->holds.add(queue->submitted, gate);
  // A put waits for the commands before, and not for those that it lets go on.
  OB_RETURN_IF_ERROR(device.on_reached(
      queue->local, false,
      [queue, before = queue->submitted - 1](const QueueReport&) { queue->reach(before); }));
  return device.hold(queue->local, std::move(gate));
}

}  // namespace ob::daemon
