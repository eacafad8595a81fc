#pragma once
// Waiting for commands that use a buffer.

#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"
#include "device/device.hpp"
#include "device/gate.hpp"

namespace ob::daemon {

/// Waits until the commands are done, and calls `check` from time to time.
/// Threads: any   Errors: those of check, which end the wait
Status wait_for(Device& device, const std::vector<BufferUse>& uses,
                const std::function<Status()>& check);

/// The same, but does not wait for commands that a gate holds back.
Status wait_for_earlier(Device& device, const std::vector<BufferUse>& uses,
                        const std::function<Status()>& check);

/// Holds the queue of a command at a gate. Elements that arrive for later commands wait, too.
/// Threads: the connection's I/O thread   Errors: those of the device
Status hold_queue(Device& device, const QueueCommand& command, std::shared_ptr<const Gate> gate);

/// Blocks the connection until the commands are done.   Threads: the connection's I/O thread
/// Errors: connection_lost if the client leaves meanwhile; those of sending
Status wait_for(ClientContext& client, const std::vector<BufferUse>& uses);

}  // namespace ob::daemon
