// The worker's part of a trace. Nothing here is called in a run without one.

#include <string>
#include <utility>

#include "sial/code/instruction_table.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

// Notes the present instruction. An instruction that had to wait starts again, perhaps several
// times; that is one wait.
void Worker::trace_step(const InstructionTimes& times, Step step) {
  if (step == Step::wait) {
    if (trace_waits_since_ns_ == 0) trace_waits_since_ns_ = times.ended_ns;
    return;
  }
  TraceSlice slice;
  slice.rank = rank_;
  slice.name = where_text(times.at) + " " + find_row(code_[times.at].op)->name;
  if (trace_waits_since_ns_ != 0) {
    slice.kind = TraceSlice::Kind::wait;
    slice.begin_ns = std::exchange(trace_waits_since_ns_, 0);
    slice.end_ns = times.began_ns;
    setting_.trace->add(slice);
  }
  slice.kind = TraceSlice::Kind::statement;
  slice.begin_ns = times.began_ns;
  slice.end_ns = times.ended_ns;
  slice.on_device = times.on_device;
  setting_.trace->add(slice);
}

// Notes a block that has arrived.
void Worker::trace_fetch(const Message& answer, const FetchedBlock& fetched) {
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::transfer;
  slice.rank = rank_;
  slice.name = "get " + name_of(answer.array, geometry_.segments(answer.array, answer.number));
  slice.begin_ns = fetched.sent_ns;
  slice.end_ns = fetched.arrived_ns;
  slice.request = answer.request;
  slice.bytes = answer.block == nullptr ? 0 : answer.block->bytes();
  slice.ahead = fetched.ahead;
  setting_.trace->add(slice);
}

void Worker::trace_write_begin(const Message& message) {
  const std::uint64_t bytes = message.block == nullptr ? 0 : message.block->bytes();
  traced_writes_[message.request] = {message_name(message.kind), steady_ns(), bytes};
}

// Notes a write that a server has answered.
void Worker::trace_write_end(const Message& answer) {
  const auto found = traced_writes_.find(answer.request);
  if (found == traced_writes_.end()) return;
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::transfer;
  slice.rank = rank_;
  slice.name = found->second.name + std::string(" ") +
               name_of(answer.array, geometry_.segments(answer.array, answer.number));
  slice.begin_ns = found->second.sent_ns;
  slice.end_ns = answer.arrived_ns != 0 ? answer.arrived_ns : steady_ns();
  slice.request = answer.request;
  slice.bytes = found->second.bytes;
  traced_writes_.erase(found);
  setting_.trace->add(slice);
}

}  // namespace ob::sial
