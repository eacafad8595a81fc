#include "client/remote_device.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/device_info.hpp"
#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

Region bytes_at(std::uint64_t offset_bytes, std::uint64_t size_bytes) {
  return {offset_bytes, 1, Triangle::full, size_bytes, 1, size_bytes};
}

}  // namespace

Result<std::unique_ptr<RemoteDevice>> RemoteDevice::open(const std::string& address,
                                                         const ConnectionConfig& config) {
  OB_ASSIGN_OR_RETURN(auto connection, Connection::open(address, config));
  return std::unique_ptr<RemoteDevice>(new RemoteDevice(std::move(connection)));
}

RemoteDevice::RemoteDevice(std::unique_ptr<Connection> connection)
    : link_(std::move(connection)),
      info_(device_info(link_.connection())),
      queues_(link_),
      buffers_(link_, queues_, info_.host_visible),
      plans_(link_),
      peers_(link_, queues_, buffers_) {}

RemoteDevice::~RemoteDevice() {
  if (!broken() && link_.command(Opcode::goodbye, {}).ok()) {
    (void)link_.flush();  // the daemon frees everything in any case
  }
}

Result<QueueId> RemoteDevice::create_queue(const Account&) { return queues_.create(); }

Status RemoteDevice::destroy_queue(QueueId queue) { return queues_.destroy(queue); }

Status RemoteDevice::set_accuracy(QueueId queue, Accuracy accuracy) {
  return queues_.set_accuracy(queue, accuracy);
}

Result<BufferId> RemoteDevice::allocate(std::uint64_t size_bytes, const Account&) {
  return buffers_.allocate(size_bytes);
}

Status RemoteDevice::free(BufferId buffer) { return buffers_.free(buffer); }

std::byte* RemoteDevice::host_view(BufferId buffer) noexcept { return buffers_.host_view(buffer); }

Result<SegmentView> RemoteDevice::segment(BufferId) {
  return Status(Code::unsupported, "the segments of a remote device belong to its daemon");
}

Status RemoteDevice::write(QueueId queue, BufferId buffer, const Region& region,
                           const Layout& source) {
  return buffers_.write(queue, buffer, region, source);
}

Status RemoteDevice::read(QueueId queue, BufferId buffer, const Region& region,
                          const Layout& destination) {
  return buffers_.read(queue, buffer, region, destination);
}

Status RemoteDevice::fill(QueueId queue, BufferId buffer, const Region& region,
                          std::span<const std::byte> element) {
  return buffers_.fill(queue, buffer, region, element);
}

Status RemoteDevice::digest(QueueId queue, BufferId buffer, const Region& region,
                            std::uint64_t chunk_bytes, std::span<Digest> digests) {
  return buffers_.digest(queue, buffer, region, chunk_bytes, digests);
}

Status RemoteDevice::copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                          const Region& to) {
  OB_RETURN_IF_ERROR(buffers_.check(source, from));
  OB_RETURN_IF_ERROR(buffers_.check(destination, to));
  return buffers_.submit(Opcode::copy, queue, wire::Copy{source, destination, from, to},
                         {source, destination});
}

// The daemon checks against the size class. Only this side knows the size that the user asked for.
// The daemon refuses illegal calls.
Status RemoteDevice::check_operands(const Descriptor& routine, const Argument* arguments) {
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::matrix) lds[i] = arguments[i].device.ld;
  }
  if (!routine.legal(arguments, lds)) return {};
  const Operands operands = routine.operands(arguments);  // a temporary would end before the loop
  for (const Operand& operand : operands.span()) {
    const DeviceOperand& device = arguments[operand.argument].device;
    const bool matrix = routine.kinds[operand.argument] == Kind::matrix;
    const Region region{
        device.offset_bytes,
        operand.element_bytes,
        operand.triangle,
        operand.rows,
        operand.cols,
        matrix ? static_cast<std::uint64_t>(device.ld) : std::max<std::uint64_t>(1, operand.rows)};
    if (extent_bytes(region) != 0) OB_RETURN_IF_ERROR(buffers_.check(device.buffer, region));
  }
  return {};
}

Status RemoteDevice::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  OB_RETURN_IF_ERROR(check_operands(routine, arguments));
  wire::Body body;
  encode_call(routine, arguments, body);
  std::array<BufferId, kMaxArguments> uses;
  std::size_t count = 0;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (is_memory(routine.kinds[i])) uses[count++] = arguments[i].device.buffer;
  }
  return buffers_
      .submit(Opcode::call, queue, body.bytes(), std::span<const BufferId>(uses.data(), count))
      .status();
}

Result<PlanId> RemoteDevice::make_plan(const FftPlan& plan, const Account& /*account*/) {
  return plans_.make(plan);
}

Status RemoteDevice::destroy_plan(PlanId plan) { return plans_.destroy(plan); }

Status RemoteDevice::execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) {
  // the daemon refuses a plan that is unknown here
  if (const RemotePlans::Sizes* const sizes = plans_.sizes(plan); sizes != nullptr) {
    OB_RETURN_IF_ERROR(
        buffers_.check(input.buffer, bytes_at(input.offset_bytes, sizes->input_bytes)));
    OB_RETURN_IF_ERROR(
        buffers_.check(output.buffer, bytes_at(output.offset_bytes, sizes->output_bytes)));
  }
  return buffers_.submit(
      Opcode::execute_plan, queue,
      wire::ExecutePlan{plan, input.buffer, output.buffer, input.offset_bytes, output.offset_bytes},
      {input.buffer, output.buffer});
}

Result<EventId> RemoteDevice::create_event() { return queues_.create_event(); }

Status RemoteDevice::destroy_event(EventId event) { return queues_.destroy_event(event); }

Status RemoteDevice::record(QueueId queue, EventId event) {
  OB_RETURN_IF_ERROR(queues_.check_event(event));
  return buffers_.submit(Opcode::record, queue, wire::Record{event}, {});
}

Status RemoteDevice::wait(QueueId queue, EventId event) {
  OB_RETURN_IF_ERROR(queues_.check_event(event));
  return buffers_.submit(Opcode::wait, queue, wire::Wait{event}, {});
}

QueueReport RemoteDevice::synchronize(QueueId queue) { return queues_.synchronize(queue); }

Status RemoteDevice::on_reached(QueueId queue, bool clear,
                                std::function<void(const QueueReport&)> done) {
  return queues_.on_reached(queue, clear, done);
}

Status RemoteDevice::mark(QueueId queue, std::function<void(const QueueMark&)> done) {
  OB_ASSIGN_OR_RETURN(const QueueMark mark, queues_.mark(queue));
  done(mark);
  return {};
}

}  // namespace ob::client
