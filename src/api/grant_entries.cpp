// The functions of grants: one-sided copies from device to device.

#include <memory>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "api/peer_objects.hpp"
#include "api/place.hpp"
#include "api/queue_use.hpp"

namespace ob::api {
namespace {

// The longest name of a user on the wire.
constexpr std::size_t kMostUserBytes = 255;

Status local_device() {
  return {Code::unsupported,
          "the device is in this process, and only daemons have grants; open it behind a daemon"};
}

Outcome create_grant(ob_buffer handle, const client::SharedDevice::GrantTerms& asked,
                     const char* user, char* address, ob_grant* grant) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_grant_create"));
  if (address == nullptr || grant == nullptr) {
    return mistake("no place for the grant or its address (the pointer is NULL)");
  }
  OB_ASSIGN_OR_RETURN(const auto buffer, find<Buffer>(handle));
  client::SharedDevice* const remote = buffer->device->remote();
  if (remote == nullptr) return local_device();
  if (asked.may == 0 || (asked.may & ~(wire::kMayRead | wire::kMayWrite)) != 0) {
    return mistake("a grant permits OB_MAY_READ, OB_MAY_WRITE or both");
  }
  client::SharedDevice::GrantTerms terms = asked;
  terms.buffer = buffer->id;
  terms.user = user == nullptr ? "" : user;
  if (terms.user.size() > kMostUserBytes) {
    return mistake("a user has a name of " + std::to_string(terms.user.size()) +
                   " bytes; it has at most 255");
  }
  OB_ASSIGN_OR_RETURN(const auto made, remote->create_grant(terms));
  auto object = std::make_shared<GivenGrant>(buffer->device, made.id);
  const std::string text = address_text(kGrantAddress, made.address);
  address[text.copy(address, OB_ADDRESS_BYTES - 1)] = '\0';
  *grant = add(std::move(object));
  return {};
}

Outcome wait_for_grant(ob_grant handle, ob_queue queue_handle, std::uint64_t landed) {
  OB_ASSIGN_OR_RETURN(const auto grant, find<GivenGrant>(handle));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  if (queue->device != grant->device) {
    return mistake("the grant is of another device than the queue; use a queue of its device");
  }
  OB_RETURN_IF_ERROR(grant->device->remote()->await_grant(queue->id, grant->id, landed));
  queue->count();
  return {};
}

Outcome copy_granted(ob_queue queue_handle, const char* address, std::uint64_t offset,
                     const ob_place& place, std::uint64_t bytes, ob_event landed, bool put) {
  if (address == nullptr) return mistake("no address (the pointer is NULL)");
  OB_ASSIGN_OR_RETURN(const Mailbox grant, read_address(kGrantAddress, address));
  OB_ASSIGN_OR_RETURN(const QueueUse queue, QueueUse::begin(queue_handle));
  client::SharedDevice* const remote = queue->device->remote();
  if (remote == nullptr) return local_device();
  OB_ASSIGN_OR_RETURN(const auto buffer, buffer_of(place, *queue->device));
  const Region region{.offset_bytes = place.offset_bytes, .rows = bytes, .cols = 1, .ld = bytes};
  OB_RETURN_IF_ERROR(check_inside(put ? "put" : "get", *buffer, region));
  if (bytes == 0) return mistake("a put or get of 0 bytes; give it at least one");
  std::shared_ptr<Event> event;
  if (landed != nullptr) {
    OB_ASSIGN_OR_RETURN(event, find<Event>(landed));
    if (event->device != queue->device) {
      return mistake("the event is of another device than the queue; make one of its device");
    }
  }
  const BufferRef here{buffer->id, place.offset_bytes};
  OB_RETURN_IF_ERROR(put ? remote->put(queue->id, grant, offset, here, bytes)
                         : remote->get(queue->id, grant, offset, here, bytes));
  queue->count();
  if (event == nullptr) return {};
  OB_RETURN_IF_ERROR(event->record(queue->id));
  queue->count();
  return {};
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_grant_create(ob_buffer buffer, uint64_t offset, uint64_t bytes, uint32_t may,
                                    const char* user, uint32_t seconds, uint32_t uses,
                                    char address[OB_ADDRESS_BYTES], ob_grant* grant) {
  return answer([&] {
    return create_grant(buffer, {{}, offset, bytes, may, seconds, uses, {}}, user, address, grant);
  });
}

OB_EXPORT ob_status ob_grant_wait(ob_grant grant, ob_queue queue, uint64_t landed) {
  return answer([&] { return wait_for_grant(grant, queue, landed); });
}

OB_EXPORT ob_status ob_grant_revoke(ob_grant grant) {
  return answer([&]() -> Outcome {
    if (Outcome outcome = check_may_wait("ob_grant_revoke"); !outcome.ok()) return outcome;
    return take<GivenGrant>(grant).status();
  });
}

OB_EXPORT ob_status ob_put(ob_queue queue, const char* address, uint64_t offset, ob_place from,
                           uint64_t bytes, ob_event landed) {
  return answer([&] { return copy_granted(queue, address, offset, from, bytes, landed, true); });
}

OB_EXPORT ob_status ob_get(ob_queue queue, const char* address, uint64_t offset, ob_place to,
                           uint64_t bytes, ob_event landed) {
  return answer([&] { return copy_granted(queue, address, offset, to, bytes, landed, false); });
}
