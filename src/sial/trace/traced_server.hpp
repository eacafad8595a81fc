#pragma once
// A server that notes in a trace how long its messages take.

#include "sial/code/program.hpp"
#include "sial/server/server.hpp"
#include "sial/trace/run_trace.hpp"

namespace ob::sial {

/// Has the server handle a message, and notes it.
void note_handled(BlockServer& server, const Message& message, const Program& program,
                  RunTrace& trace);

/// Has the server handle a message, and notes it if there is a trace.
/// @param trace nullptr: there is none
inline void handle_traced(BlockServer& server, const Message& message, const Program& program,
                          RunTrace* trace) {
  if (trace == nullptr) return server.receive(message);
  note_handled(server, message, program, *trace);
}

}  // namespace ob::sial
