// cudart: streams.

#include "core/stream.hpp"

#include "core/devices.hpp"
#include "core/event.hpp"
#include "core/order.hpp"
#include "cudart/entry.hpp"

using standin::Access;
using standin::Devices;
using standin::leave;
using standin::Order;
using standin::refuse;
using standin::Stream;

namespace {

std::shared_ptr<Stream> find(cudaStream_t handle) { return Devices::instance().stream(handle); }

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  STANDIN_ENTER();
  if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0)
    return leave(cudaErrorInvalidValue);
  auto stream = std::make_shared<Stream>(Devices::current(), flags);
  *handle = static_cast<cudaStream_t>(Devices::instance().streams().add(std::move(stream)));
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return cudaStreamCreateWithFlags(handle, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int) {
  return cudaStreamCreateWithFlags(handle, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  STANDIN_ENTER();
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const auto stream = Devices::instance().streams().remove(handle);
  STANDIN_ENTER();
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  Order::instance().finish(*stream);  // CUDA lets the stream's work finish
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  STANDIN_ENTER();
  const auto stream = find(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  Order::instance().synchronize(*stream);
  return leave(Devices::instance().sticky(stream->device()));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  STANDIN_ENTER();
  const auto stream = find(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  const standin::Clock clock = Order::instance().clock_of(*stream);
  if (!stream->done(stream->tail())) return leave(cudaErrorNotReady);
  Order::instance().host_knows(clock);
  return leave(Devices::instance().sticky(stream->device()));
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  STANDIN_ENTER();
  const auto stream = find(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  *device = stream->device();
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  STANDIN_ENTER();
  const auto stream = find(handle);
  const auto event = standin::Event::all().find(event_handle);
  if (stream == nullptr || event == nullptr)
    return refuse(__func__, "no stream or no event", cudaErrorInvalidResourceHandle);
  const auto record = event->record();
  if (record == nullptr) return cudaSuccess;
  Order::instance().submit(stream, Access(__func__, stream->device()), [record] {
    record->stream->wait(record->position);
    return cudaSuccess;
  });
  Order::instance().wait(*stream, record->clock);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  STANDIN_ENTER();
  const auto stream = find(handle);
  if (stream == nullptr) return refuse(__func__, "no stream", cudaErrorInvalidResourceHandle);
  const standin::Clock clock = Order::instance().clock_of(*stream);
  Order::instance().submit(stream, Access(__func__, stream->device()), [=] {
    Order::instance().host_knows(clock);  // orders later host work behind this
    function(data);
    return cudaSuccess;
  });
  return cudaSuccess;
}

}  // extern "C"
