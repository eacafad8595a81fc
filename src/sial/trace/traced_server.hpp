#pragma once
// A server that notes in a trace how long its messages take.

#include "sial/server/server.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

/// Has the server handle a message, and notes it.   @pre the run has a trace
void note_handled(BlockServer& server, const Message& message, const WorkerSetting& setting);

/// Has the server handle a message, and notes it if the run has a trace.
inline void handle_traced(BlockServer& server, const Message& message,
                          const WorkerSetting& setting) {
  if (setting.trace == nullptr) return server.receive(message);
  note_handled(server, message, setting);
}

}  // namespace ob::sial
