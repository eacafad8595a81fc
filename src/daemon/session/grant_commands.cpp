#include "daemon/session/grant_commands.hpp"

#include <chrono>
#include <utility>

#include "daemon/io/token.hpp"
#include "daemon/session/buffer_waits.hpp"
#include "transport/security.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

Region bytes_of(std::uint64_t offset_bytes, std::uint64_t size_bytes) {
  return {.offset_bytes = offset_bytes, .rows = size_bytes, .cols = 1, .ld = size_bytes};
}

Result<std::shared_ptr<Grant>> make_grant(ClientContext& client, const wire::CreateGrant& asked) {
  if (!client.peers.may_connect()) {
    return Status(Code::denied, "this daemon makes no grants (--no-peers)");
  }
  if (asked.seconds == 0 || asked.seconds > wire::kMaxGrantSeconds) {
    return Status(Code::invalid_argument, "a grant of " + std::to_string(asked.seconds) +
                                              " s; it lasts 1 to " +
                                              std::to_string(wire::kMaxGrantSeconds) + " s");
  }
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session.buffer(asked.buffer));
  if (asked.size_bytes == 0 ||
      !fits(bytes_of(asked.offset_bytes, asked.size_bytes), buffer.size_bytes)) {
    return Status(Code::invalid_argument, "the range of a grant is empty or not in its buffer");
  }
  OB_ASSIGN_OR_RETURN(const wire::Token secret, new_token());
  GrantTerms terms{asked.offset_bytes, asked.size_bytes,
                   asked.may,          asked.uses,
                   asked.user,         Grant::Clock::now() + std::chrono::seconds(asked.seconds),
                   session.over()};
  if (!asked.user.empty()) terms.user = transport::user_of_certificate(asked.user);
  // The session outlives its grants' uses.
  auto settle = [&session, id = asked.buffer](const std::function<Status()>& check) {
    return wait_for_earlier(session.device(), session.open_uses(id), check);
  };
  return std::make_shared<Grant>(session.device(), secret, std::move(terms), buffer.memory,
                                 session.host_memory(), std::move(settle));
}

Result<std::shared_ptr<GrantLink>> link_to(ClientContext& client, const wire::GrantCopy& copy) {
  Session& session = *client.session;
  const std::string user = client.channel->stream().user();
  return session.grants().link(copy.address, [&]() -> Result<std::shared_ptr<GrantLink>> {
    OB_ASSIGN_OR_RETURN(Reservation thread, session.reserve_thread());
    const auto open = [&peers = client.peers, address = copy.address, user](
                          const wire::Token& secret) { return peers.open(secret, address, user); };
    return std::make_shared<GrantLink>(session.device(), session.host_memory(),
                                       client.peers.grants(), user, open, std::move(thread));
  });
}

Status submit_copy(ClientContext& client, const QueueCommand& command, bool put) {
  OB_ASSIGN_OR_RETURN(const auto copy, wire::decode<wire::GrantCopy>(command.message.body));
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session.buffer(copy.buffer));
  const Region region = bytes_of(copy.offset_bytes, copy.size_bytes);
  if (copy.size_bytes == 0 || !fits(region, buffer.size_bytes)) {
    return {Code::invalid_argument, "the bytes of a put or get are none, or not in their buffer"};
  }
  OB_ASSIGN_OR_RETURN(const auto link, link_to(client, copy));
  OB_RETURN_IF_ERROR(session.use(copy.buffer, command.queue).status());
  const auto done = std::make_shared<Gate>();
  const PendingGrantCopy pending{
      put,           {copy.secret, copy.grant_offset_bytes, copy.size_bytes},
      buffer.memory, region,
      done,          client.channel->hold_busy()};
  OB_RETURN_IF_ERROR(session.device().on_reached(command.queue->local, false,
                                                 [link, pending](const QueueReport& report) {
                                                   if (report.status.ok()) {
                                                     link->submit(pending);
                                                   } else {
                                                     pending.done->open(report.status);
                                                   }
                                                 }));
  return hold_queue(session.device(), command, done);
}

}  // namespace

Status on_create_grant(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto asked, wire::decode<wire::CreateGrant>(message.body));
  auto grant = make_grant(client, asked);
  Status status = grant.status();
  if (status.ok()) status = client.session->grants().add(asked.grant, asked.buffer, *grant);
  if (status.code() == Code::protocol_error) return status;
  wire::Granted answer;
  answer.code = status.code();
  answer.message = status.message();
  if (status.ok()) {
    client.peers.grants().add(*grant);
    answer.secret = (*grant)->secret();
  }
  return client.channel->replies().reply(Opcode::granted, {}, message.header.sequence, answer);
}

Status on_revoke_grant(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto revoke, wire::decode<wire::RevokeGrant>(message.body));
  client.session->grants().revoke(revoke.grant);
  return {};
}

Status on_await_grant(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto await, wire::decode<wire::AwaitGrant>(command.message.body));
  const auto grant = client.session->grants().find(await.grant);
  if (grant == nullptr) {
    return {Code::denied, "unknown grant " + std::to_string(await.grant.value) +
                              " (revoked, or its buffer was freed)"};
  }
  return hold_queue(client.session->device(), command, grant->landed(await.landed));
}

Status on_put(ClientContext& client, const QueueCommand& command) {
  return submit_copy(client, command, true);
}

Status on_get(ClientContext& client, const QueueCommand& command) {
  return submit_copy(client, command, false);
}

}  // namespace ob::daemon
