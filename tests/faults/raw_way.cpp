#include "faults/raw_way.hpp"

#include "routines/codec.hpp"

namespace ob::test {

using wire::Opcode;

Status RawWay::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  wire::Body body;
  encode_call(routine, arguments, body);
  return device_.connection().command(Opcode::call, queue, body.bytes()).status();
}

Status RawWay::transform(QueueId queue, const FftPlan& plan, BufferRef input, BufferRef output) {
  const PlanId id{++last_id_};
  wire::Body body;
  encode_plan(id, plan, body);
  // A malformed message would end the connection (fuzz_daemon sends those).
  OB_RETURN_IF_ERROR(decode_plan(body.bytes()).status());
  OB_RETURN_IF_ERROR(device_.connection().command(Opcode::make_plan, {}, body.bytes()).status());
  OB_RETURN_IF_ERROR(command(
      Opcode::execute_plan, queue,
      wire::ExecutePlan{id, input.buffer, output.buffer, input.offset_bytes, output.offset_bytes}));
  return command(Opcode::destroy_plan, {}, wire::DestroyPlan{id});
}

Result<BufferId> RawWay::allocate(std::uint64_t size_bytes) {
  const BufferId id{++last_id_};
  OB_RETURN_IF_ERROR(command(Opcode::allocate, {}, wire::Allocate{id, size_bytes}));
  return id;
}

Status RawWay::free(BufferId buffer) { return command(Opcode::free, {}, wire::Free{buffer}); }

Status RawWay::wait(QueueId queue) { return device_.synchronize(queue).status; }

}  // namespace ob::test
