#include "sial/trace/traced_server.hpp"

#include <string>

#include "sial/exchange/steady_time.hpp"

namespace ob::sial {
void note_handled(BlockServer& server, const Message& message, const Program& program,
                  RunTrace& trace) {
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::message;
  slice.rank = message.to;
  slice.name = message_name(message.kind);
  if (message.array < program.arrays.size() && message.kind != MessageKind::next_chunk) {
    slice.name += " " + program.arrays[message.array].name;
  }
  slice.bytes = message.block == nullptr ? 0 : message.block->bytes();
  slice.begin_ns = steady_ns();
  server.receive(message);
  slice.end_ns = steady_ns();
  trace.add(slice);
}

}  // namespace ob::sial
