// The functions of the library, its devices, buffers and events.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "api/copy_text.hpp"
#include "api/handles.hpp"
#include "api/kernel_objects.hpp"
#include "api/open.hpp"
#include "api/peer_objects.hpp"
#include "api/queue_use.hpp"
#include "api/sized_struct.hpp"

namespace ob::api {
namespace {

Outcome no_place_for(const char* what) {
  return mistake(std::string("no place for the ") + what + " (the pointer is NULL)");
}

// Waits until the buffer's memory exists. The only command that tells is one that uses it.
Status wait_allocated(OpenDevice& device, BufferId buffer) {
  OB_ASSIGN_OR_RETURN(const QueueId watch, device.take_watch());
  std::byte unused{};
  const Region first{.rows = 1, .cols = 1, .ld = 1};
  OB_RETURN_IF_ERROR(device->read(watch, buffer, first, Layout::bytes(&unused, 1)));
  const QueueReport report = device->synchronize(watch);
  device.watches()->give_back(watch);  // synchronize() has cleared its failure
  return report.status;
}

Outcome create_buffer(ob_device handle, std::uint64_t bytes, std::uint32_t flags, ob_buffer* made) {
  if ((flags & OB_WAIT) != 0) OB_RETURN_IF_ERROR(check_may_wait("ob_buffer_create with OB_WAIT"));
  if (made == nullptr) return no_place_for("buffer");
  if ((flags & ~std::uint32_t{OB_WAIT}) != 0) return mistake("unknown flags of ob_buffer_create");
  if (bytes == 0) return mistake("a buffer of 0 bytes; give it at least one");
  OB_ASSIGN_OR_RETURN(const DevicePtr device, find<OpenDevice>(handle));
  OB_ASSIGN_OR_RETURN(const BufferId id, (*device)->allocate(bytes));
  auto buffer = std::make_shared<Buffer>(device, id, bytes);
  if ((flags & OB_WAIT) != 0) OB_RETURN_IF_ERROR(wait_allocated(*device, id));
  *made = add(std::move(buffer));
  return {};
}

Outcome close(ob_device handle) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_device_close"));
  return close_device(handle);
}

Outcome create_event(ob_device handle, std::uint32_t flags, ob_event* made) {
  if (made == nullptr) return no_place_for("event");
  if ((flags & ~std::uint32_t{OB_TIMED}) != 0) {
    return mistake("unknown flags of ob_event_create; pass 0 or OB_TIMED");
  }
  OB_ASSIGN_OR_RETURN(const DevicePtr device, find<OpenDevice>(handle));
  OB_ASSIGN_OR_RETURN(const EventId id, (*device)->create_event());
  *made = add(std::make_shared<Event>(device, id, (flags & OB_TIMED) != 0));
  return {};
}

Outcome wait_for_event(ob_event handle, std::int64_t timeout_ms) {
  if (timeout_ms != 0) OB_RETURN_IF_ERROR(check_may_wait("ob_event_wait"));
  OB_ASSIGN_OR_RETURN(const auto event, find<Event>(handle));
  OB_ASSIGN_OR_RETURN(const Deadline deadline, deadline_after(timeout_ms));
  return event->await(deadline);
}

Outcome elapsed(ob_event from_handle, ob_event to_handle, std::uint64_t* elapsed_ns) {
  if (elapsed_ns == nullptr) return no_place_for("time");
  OB_ASSIGN_OR_RETURN(const auto from, find<Event>(from_handle));
  OB_ASSIGN_OR_RETURN(const auto to, find<Event>(to_handle));
  if (from->device != to->device) {
    return mistake("the events are of two devices (each has a clock of its own)");
  }
  OB_ASSIGN_OR_RETURN(const std::uint64_t from_ns, from->clock());
  OB_ASSIGN_OR_RETURN(const std::uint64_t to_ns, to->clock());
  if (to_ns < from_ns) {
    return mistake("the first event is later than the second one; exchange them");
  }
  *elapsed_ns = to_ns - from_ns;
  return {};
}

Outcome record_event(ob_event event, ob_queue queue) {
  OB_ASSIGN_OR_RETURN(const auto found, find<Event>(event));
  OB_ASSIGN_OR_RETURN(const QueueUse use, QueueUse::begin(queue));
  if (use->device != found->device) {
    return mistake(
        "the event and the queue are of two devices (a queue records events of its own device); "
        "make an event of the queue's device");
  }
  OB_RETURN_IF_ERROR(found->record(use->id));
  use->count();
  return {};
}

Outcome hold_for_event(ob_event event, ob_queue queue) {
  OB_ASSIGN_OR_RETURN(const auto found, find<Event>(event));
  OB_ASSIGN_OR_RETURN(const QueueUse use, QueueUse::begin(queue));
  OB_RETURN_IF_ERROR(found->hold(*use->device, use->id));
  use->count();
  return {};
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT uint32_t ob_api(void) { return OB_API; }

OB_EXPORT ob_status ob_last_error(ob_error* error) {
  // A mistake here must not replace the failure that the caller asks for, so it is not kept.
  if (error == nullptr || error->struct_bytes < sizeof *error) return OB_INVALID_ARGUMENT;
  give(last_error(), *error);
  return OB_OK;
}

OB_EXPORT ob_status ob_device_open(const char* where, const ob_device_options* options,
                                   ob_device* device) {
  return answer([&]() -> Outcome {
    if (device == nullptr) return no_place_for("device");
    ob_device_options taken{};
    if (options != nullptr) {
      if (Outcome outcome = take(options, "ob_device_options", taken); !outcome.ok())
        return outcome;
    }
    OB_ASSIGN_OR_RETURN(DevicePtr opened, open_device(where, taken));
    *device = add(std::move(opened));
    return {};
  });
}

OB_EXPORT ob_status ob_device_get_facts(ob_device device, ob_device_facts* facts) {
  return answer([&]() -> Outcome {
    if (Outcome outcome = check_size(facts, "ob_device_facts"); !outcome.ok()) return outcome;
    OB_ASSIGN_OR_RETURN(const DevicePtr found, find<OpenDevice>(device));
    const ob::DeviceInfo& info = (*found)->info();
    ob_device_facts all{};
    all.memory_bytes = info.memory_bytes;
    all.gflops_double = info.gflops_double;
    all.host_visible = info.host_visible ? 1 : 0;
    all.kernels = found->runs_kernels().ok() ? 1 : 0;
    all.big_endian = found->big_endian() ? 1 : 0;
    const auto* const remote = found->remote();
    all.peers = remote != nullptr && remote->connects_to_others() ? 1 : 0;
    copy_text(all.backend, info.backend);
    copy_text(all.description, info.description);
    give(all, *facts);
    return {};
  });
}

OB_EXPORT ob_status ob_device_close(ob_device device) {
  return answer([&] { return close(device); });
}

OB_EXPORT ob_status ob_buffer_create(ob_device device, uint64_t bytes, uint32_t flags,
                                     ob_buffer* buffer) {
  return answer([&] { return create_buffer(device, bytes, flags, buffer); });
}

OB_EXPORT ob_status ob_buffer_destroy(ob_buffer buffer) {
  return answer([&]() -> Outcome { return take<Buffer>(buffer).status(); });
}

OB_EXPORT ob_status ob_buffer_map(ob_buffer buffer, void** address) {
  return answer([&]() -> Outcome {
    if (address == nullptr) return no_place_for("address");
    OB_ASSIGN_OR_RETURN(const auto found, find<Buffer>(buffer));
    std::byte* const memory = (*found->device)->host_view(found->id);
    if (memory == nullptr) {
      return Outcome(ob::Status(ob::Code::unsupported,
                                "the buffer cannot be mapped (its memory is on another machine or "
                                "on an accelerator, or there is none); use ob_read and ob_write"));
    }
    *address = memory;
    return {};
  });
}

OB_EXPORT ob_status ob_event_create(ob_device device, uint32_t flags, ob_event* event) {
  return answer([&] { return create_event(device, flags, event); });
}

OB_EXPORT ob_status ob_event_destroy(ob_event event) {
  return answer([&]() -> Outcome { return take<Event>(event).status(); });
}

OB_EXPORT ob_status ob_event_record(ob_event event, ob_queue queue) {
  return answer([&] { return record_event(event, queue); });
}

OB_EXPORT ob_status ob_event_hold(ob_event event, ob_queue queue) {
  return answer([&] { return hold_for_event(event, queue); });
}

OB_EXPORT ob_status ob_event_wait(ob_event event, int64_t timeout_ms) {
  return answer([&] { return wait_for_event(event, timeout_ms); });
}

OB_EXPORT ob_status ob_event_fd(ob_event event, int* fd) {
  return answer([&]() -> Outcome {
    if (fd == nullptr) return no_place_for("descriptor");
    OB_ASSIGN_OR_RETURN(const auto found, find<Event>(event));
    OB_ASSIGN_OR_RETURN(*fd, found->descriptor());
    return {};
  });
}

OB_EXPORT ob_status ob_event_elapsed_ns(ob_event from, ob_event to, uint64_t* elapsed_ns) {
  return answer([&] { return elapsed(from, to, elapsed_ns); });
}
