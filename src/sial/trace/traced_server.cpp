#include "sial/trace/traced_server.hpp"

#include <chrono>
#include <string>

namespace ob::sial {
namespace {

std::int64_t steady_ns() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

void note_handled(BlockServer& server, const Message& message, const WorkerSetting& setting) {
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::message;
  slice.rank = message.to;
  slice.name = message_name(message.kind);
  if (message.array < setting.program->arrays.size() && message.kind != MessageKind::next_chunk) {
    slice.name += " " + setting.program->arrays[message.array].name;
  }
  slice.bytes = message.block == nullptr ? 0 : message.block->bytes();
  slice.begin_ns = steady_ns();
  server.receive(message);
  slice.end_ns = steady_ns();
  setting.trace->add(slice);
}

}  // namespace ob::sial
