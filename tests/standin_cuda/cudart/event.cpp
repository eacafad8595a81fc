// cudart: events.

#include "core/event.hpp"

#include <chrono>

#include "core/devices.hpp"
#include "core/order.hpp"
#include "cudart/entry.hpp"

using standin::Devices;
using standin::Event;
using standin::leave;
using standin::Order;
using standin::Record;
using standin::refuse;

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  STANDIN_ENTER();
  *handle = static_cast<cudaEvent_t>(
      Event::all().add(std::make_shared<Event>(Devices::current(), flags)));
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) {
  return cudaEventCreateWithFlags(handle, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const auto event = Event::all().remove(handle);
  STANDIN_ENTER();
  if (event == nullptr) return refuse(__func__, "no event", cudaErrorInvalidResourceHandle);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  STANDIN_ENTER();
  const auto event = Event::all().find(handle);
  const auto stream = Devices::instance().stream(stream_handle);
  if (event == nullptr || stream == nullptr)
    return refuse(__func__, "no stream or no event", cudaErrorInvalidResourceHandle);
  if (event->device() != stream->device())
    return refuse(__func__, "the event and the stream are of different devices",
                  cudaErrorInvalidResourceHandle);
  auto record = std::make_shared<Record>();
  record->stream = stream;
  // A record owns the stream, so the stream's work must not own the record.
  const std::weak_ptr<Record> watched = record;
  record->position =
      Order::instance().submit(stream, standin::Access(__func__, stream->device()), [watched] {
        if (const auto reached = watched.lock()) {
          reached->at = std::chrono::steady_clock::now();
          reached->done = true;
        }
        return cudaSuccess;
      });
  record->clock = Order::instance().clock_of(*stream);
  event->record(std::move(record));
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  STANDIN_ENTER();
  const auto event = Event::all().find(handle);
  if (event == nullptr) return refuse(__func__, "no event", cudaErrorInvalidResourceHandle);
  const auto record = event->record();
  if (record == nullptr) return cudaSuccess;
  record->stream->wait(record->position);
  Order::instance().host_knows(record->clock);
  return leave(Devices::instance().sticky(event->device()));
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  STANDIN_ENTER();
  const auto event = Event::all().find(handle);
  if (event == nullptr) return refuse(__func__, "no event", cudaErrorInvalidResourceHandle);
  const auto record = event->record();
  if (record == nullptr) return cudaSuccess;
  if (!record->stream->done(record->position)) return leave(cudaErrorNotReady);
  Order::instance().host_knows(record->clock);
  return leave(Devices::instance().sticky(event->device()));
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  STANDIN_ENTER();
  const auto begin = Event::all().find(from);
  const auto end = Event::all().find(to);
  if (begin == nullptr || end == nullptr)
    return refuse(__func__, "no event", cudaErrorInvalidResourceHandle);
  const auto first = begin->record();
  const auto last = end->record();
  if (!begin->timing() || !end->timing() || first == nullptr || last == nullptr)
    return refuse(__func__, "an event without time", cudaErrorInvalidResourceHandle);
  if (!first->done || !last->done) return leave(cudaErrorNotReady);
  *ms = std::chrono::duration<float, std::milli>(last->at - first->at).count();
  return cudaSuccess;
}

}  // extern "C"
