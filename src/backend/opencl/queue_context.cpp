#include "backend/opencl/queue_context.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace ob::opencl {
namespace {

using Way = QueueContext::Way;

cl_int copy_bytes(const QueueContext& q, Way way, const ColumnCopy& copy) {
  const std::size_t size = copy.width_bytes * copy.columns;
  if (way == Way::to_device) {
    const Place to = q.memory.place(copy.to);
    return q.cl.clEnqueueWriteBuffer(q.queue, to.buffer, CL_FALSE, to.offset_bytes, size, copy.from,
                                     0, nullptr, nullptr);
  }
  const Place from = q.memory.place(copy.from);
  if (way == Way::to_host) {
    return q.cl.clEnqueueReadBuffer(q.queue, from.buffer, CL_FALSE, from.offset_bytes, size,
                                    copy.to, 0, nullptr, nullptr);
  }
  const Place to = q.memory.place(copy.to);
  return q.cl.clEnqueueCopyBuffer(q.queue, from.buffer, to.buffer, from.offset_bytes,
                                  to.offset_bytes, size, 0, nullptr, nullptr);
}

// PoCL 3.1 takes rectangles of one buffer for overlapping that only lie side by side.
cl_int copy_columns(const QueueContext& q, const ColumnCopy& copy) {
  for (std::uint64_t i = 0; i < copy.columns; ++i) {
    const ColumnCopy column{.to = copy.to + i * copy.to_pitch_bytes,
                            .from = copy.from + i * copy.from_pitch_bytes,
                            .width_bytes = copy.width_bytes,
                            .columns = 1};
    const cl_int result = copy_bytes(q, Way::inside, column);
    if (result != CL_SUCCESS) return result;
  }
  return CL_SUCCESS;
}

cl_int copy_rectangle(const QueueContext& q, Way way, const ColumnCopy& copy) {
  const std::array<std::size_t, 3> region{copy.width_bytes, copy.columns, 1};
  const std::array<std::size_t, 3> zero{};
  const auto origin = [](const Place& place) {
    return std::array<std::size_t, 3>{place.offset_bytes, 0, 0};
  };
  if (way == Way::to_device) {
    const Place to = q.memory.place(copy.to);
    return q.cl.clEnqueueWriteBufferRect(q.queue, to.buffer, CL_FALSE, origin(to).data(),
                                         zero.data(), region.data(), copy.to_pitch_bytes, 0,
                                         copy.from_pitch_bytes, 0, copy.from, 0, nullptr, nullptr);
  }
  const Place from = q.memory.place(copy.from);
  if (way == Way::to_host) {
    return q.cl.clEnqueueReadBufferRect(q.queue, from.buffer, CL_FALSE, origin(from).data(),
                                        zero.data(), region.data(), copy.from_pitch_bytes, 0,
                                        copy.to_pitch_bytes, 0, copy.to, 0, nullptr, nullptr);
  }
  const Place to = q.memory.place(copy.to);
  if (from.buffer == to.buffer) return copy_columns(q, copy);
  return q.cl.clEnqueueCopyBufferRect(q.queue, from.buffer, to.buffer, origin(from).data(),
                                      origin(to).data(), region.data(), copy.from_pitch_bytes, 0,
                                      copy.to_pitch_bytes, 0, 0, nullptr, nullptr);
}

}  // namespace

CopyColumns QueueContext::copies(Way way) const {
  return [this, way](const ColumnCopy& copy) {
    return Cl::check(
        copy.contiguous() ? copy_bytes(*this, way, copy) : copy_rectangle(*this, way, copy),
        "a copy");
  };
}

Status QueueContext::synchronize() const {
  return Cl::check(cl.clFinish(queue), "waiting for the device");
}

Result<HostBlock> HostBlock::allocate(std::uint64_t size_bytes) {
  const std::uint64_t size = std::max<std::uint64_t>(size_bytes, 64);
  auto* const data = static_cast<std::byte*>(::operator new(size, kAlignment, std::nothrow));
  if (data == nullptr) {
    return Status(Code::out_of_memory,
                  "no host memory for " + std::to_string(size_bytes) + " bytes");
  }
  return HostBlock{std::unique_ptr<std::byte, Free>(data), size};
}

}  // namespace ob::opencl
