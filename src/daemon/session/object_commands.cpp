#include "daemon/session/object_commands.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "daemon/session/buffer_waits.hpp"
#include "device/memory_table.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

// The memory of idle sessions is free when their queues have ended. This is soon, as they are
// unused or abandoned.
constexpr auto kRoomTime = std::chrono::seconds(1);
constexpr auto kRetryInterval = std::chrono::milliseconds(1);

// True if neither the session's limit nor its user's refuses the buffer.
bool fits_limits(Session& session, std::uint64_t size_bytes) {
  return counted_bytes(size_bytes) <= session.room_bytes();
}

// Submitted commands, also of other sessions, may still use freed memory that the device needs.
Status allocate_once_released(ClientContext& client, const wire::Allocate& allocate,
                              Clock::time_point until) {
  Session& session = *client.session;
  if (fits_limits(session, allocate.bytes)) {
    while (!session.device().await_room(allocate.bytes, kPeerCheckInterval)) {
      OB_RETURN_IF_ERROR(client.channel->check_peer());
      if (Clock::now() < until) continue;
      return {Code::out_of_memory,
              "commands of others still use freed memory of the device (they "
              "did not end within " +
                  std::to_string(kLongestReleaseWait.count()) + " s)"};
    }
  }
  return session.allocate(allocate.buffer, allocate.bytes);
}

// Other sessions are ending: their memory becomes free when their connections have ended.
Status allocate_once_free(ClientContext& client, const wire::Allocate& allocate,
                          std::chrono::milliseconds longest) {
  const auto until = Clock::now() + longest;
  for (;;) {
    Status status = allocate_once_released(client, allocate, until);
    if (status.code() != Code::out_of_memory || Clock::now() > until) return status;
    std::this_thread::sleep_for(kRetryInterval);
  }
}

// True if others hold bytes that are missing. A device in host memory may also refuse a client that
// holds its share of memory files: the end of other sessions would not help that client.
bool lacks_bytes(const Session& session, std::uint64_t size_bytes) {
  const Device& device = session.device();
  if (!device.info().host_visible || session.missing_share(size_bytes) > 0) return true;
  const std::uint64_t used = device.memory_use().used_bytes;
  const std::uint64_t all = device.info().memory_bytes;
  return size_bytes > all - std::min(all, used);
}

// Tries to free memory in several ways, the cheapest first.
Status allocate_with_retries(ClientContext& client, const wire::Allocate& allocate) {
  Session& session = *client.session;
  const auto until = Clock::now() + kLongestReleaseWait;
  Status status = allocate_once_released(client, allocate, until);
  // Nothing that ends makes room for more than the device has.
  if (allocate.bytes > session.device().info().memory_bytes) return status;
  if (status.code() == Code::out_of_memory) {
    OB_RETURN_IF_ERROR(wait_for(client, session.open_uses_of_freed()));
    status = allocate_once_released(client, allocate, until);
  }
  if (status.code() == Code::out_of_memory && session.drop_idle_plans() > 0) {
    status = allocate_once_released(client, allocate, until);
  }
  if (status.code() == Code::out_of_memory && fits_limits(session, allocate.bytes) &&
      lacks_bytes(session, allocate.bytes) &&
      client.sessions.make_room(session, allocate.bytes) > 0) {
    status = allocate_once_free(client, allocate, kRoomTime);
  }
  return status;
}

Status find_segment(ClientContext& client, const SessionBuffer& buffer, wire::Location& location) {
  transport::Stream& stream = client.channel->stream();
  if (!stream.shares_memory()) return {Code::unsupported, "no shared memory"};
  OB_ASSIGN_OR_RETURN(const auto segment, client.session->device().segment(buffer.memory->local));
  OB_RETURN_IF_ERROR(stream.send_segment(segment.fd));
  location.offset_bytes = segment.offset_bytes;
  location.segment_bytes = segment.segment_bytes;
  return {};
}

}  // namespace

Status on_ping(ClientContext& client, const session::Message& message) {
  ReplyChannel& replies = client.channel->replies();
  const QueueId announced{LifeSigns::kAnnouncedMs};
  OB_RETURN_IF_ERROR(replies.send(Opcode::pong, announced, message.header.sequence, {}));
  return replies.flush();
}

Status on_create_queue(ClientContext& client, const session::Message& message) {
  return client.session->create_queue(message.header.queue, client.owner());
}

Status on_destroy_queue(ClientContext& client, const session::Message& message) {
  const auto queue = client.session->queue(message.header.queue);
  // destroy_queue() waits for the commands, too, but does not notice that the client leaves. The
  // wait covers all commands so far; 0 notes none of them as a buffer's last use.
  if (queue && queue->owner == client.owner()) OB_RETURN_IF_ERROR(wait_for(client, {{queue, 0}}));
  return client.session->destroy_queue(message.header.queue, client.owner());
}

Status on_set_accuracy(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto set, wire::decode<wire::SetAccuracy>(message.body));
  return client.session->set_accuracy(message.header.queue, client.owner(), set.accuracy);
}

Status on_allocate(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto allocate, wire::decode<wire::Allocate>(message.body));
  // The device may wait for memory that commands still use.
  OB_RETURN_IF_ERROR(client.channel->replies().flush());
  const Status status = allocate_with_retries(client, allocate);
  const bool ends_connection = status.code() == Code::protocol_error ||
                               status.code() == Code::denied ||
                               status.code() == Code::connection_lost;
  if (status.ok() || ends_connection) return status;
  return client.session->allocate_broken(allocate.buffer, status);
}

Status on_free(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto free, wire::decode<wire::Free>(message.body));
  client.session->grants().revoke_those_of(free.buffer);
  client.session->free(free.buffer);
  return {};
}

Status on_locate(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto locate, wire::decode<wire::Locate>(message.body));
  wire::Location location;
  const auto buffer = client.session->buffer(locate.buffer);  // held until its descriptor is sent
  Status status = buffer.ok() ? find_segment(client, *buffer, location) : buffer.status();
  if (status.code() == Code::connection_lost) return status;
  location.code = status.code();
  return client.channel->replies().reply(Opcode::location, message.header.queue,
                                         message.header.sequence, location);
}

Status on_make_plan(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const DecodedPlan decoded, decode_plan(message.body));
  return client.session->make_plan(decoded.id, decoded.plan);
}

Status on_destroy_plan(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto destroy, wire::decode<wire::DestroyPlan>(message.body));
  client.session->destroy_plan(destroy.plan);
  return {};
}

}  // namespace ob::daemon
