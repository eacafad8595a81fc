#include "daemon/session/peer_commands.hpp"

#include <functional>
#include <string>
#include <utility>

#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

wire::Outcome outcome_of(const Status& status) {
  wire::Outcome outcome;
  outcome.code = status.code();
  outcome.message = status.message();
  return outcome;
}

Status unknown_peer(PeerId peer) {
  return {Code::invalid_argument, "unknown peer " + std::to_string(peer.value)};
}

// Finds the buffer of a message, which must hold the region.
Result<std::shared_ptr<DeviceBuffer>> find_buffer(ClientContext& client, BufferId id,
                                                  const Region& region, const char* command) {
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, client.session->buffer(id));
  if (fits(region, buffer.size_bytes)) return buffer.memory;
  return Status(Code::invalid_argument, std::string(command) + " exceeds buffer " +
                                            std::to_string(id.value) + " of " +
                                            std::to_string(buffer.size_bytes) + " bytes");
}

// Returns the gate; with the last use of what is returned it opens as failed, unless it is open.
std::shared_ptr<Gate> ended_with(const std::shared_ptr<Gate>& gate) {
  return {gate.get(), [gate](Gate*) {
            gate->open({Code::unavailable, "a peer message was not sent (its link has ended)"});
          }};
}

Status connect_peer(ClientContext& client, const wire::ConnectPeer& connect) {
  SessionPeers& peers = client.session->peers();
  OB_RETURN_IF_ERROR(peers.check_new(connect.peer));
  const auto own = peers.mailbox();
  OB_ASSIGN_OR_RETURN(auto transport,
                      client.peers.connect(connect.access_key, connect.address, own.get()));
  return peers.add(connect.peer, std::move(transport));
}

Status submit_send(ClientContext& client, const QueueCommand& command, const wire::Send& send,
                   const std::shared_ptr<PeerLink>& link) {
  OB_RETURN_IF_ERROR(command.queue->failure);
  OB_ASSIGN_OR_RETURN(const auto buffer, find_buffer(client, send.buffer, send.region, "send"));
  OB_RETURN_IF_ERROR(client.session->use(send.buffer, command.queue).status());
  // The connection is busy until the message is sent, which is after the queue is done with it.
  const PendingSend message{send.peer_message,
                            send.region,
                            buffer,
                            nullptr,
                            client.channel->hold_busy(),
                            ended_with(command.queue->last_transfer)};
  return client.session->device().on_reached(command.queue->local, false,
                                             [link, message](const QueueReport& report) {
                                               if (report.status.ok()) {
                                                 link->send(message);
                                               } else {
                                                 link->fail();
                                               }
                                             });
}

// Answers a receive; the channel is busy until then.
std::function<void(const Status&)> answer_of(ClientContext& client, const QueueCommand& command) {
  ++client.channel->replies().owed;
  return [channel = client.channel, id = command.id(),
          sequence = command.sequence()](const Status& status) {
    (void)channel->replies().reply(Opcode::received, id, sequence, outcome_of(status));
    --channel->replies().owed;
  };
}

Status post_receive(ClientContext& client, const QueueCommand& command,
                    const wire::Receive& receive, Mailbox* mailbox,
                    const std::function<void(const Status&)>& answer) {
  OB_RETURN_IF_ERROR(command.queue->failure);
  if (mailbox == nullptr) return {Code::invalid_argument, "there is no mailbox to receive in"};
  OB_ASSIGN_OR_RETURN(auto buffer, find_buffer(client, receive.buffer, receive.region, "receive"));
  PostedReceive posted{std::move(buffer), receive.region, {}, answer};
  OB_RETURN_IF_ERROR(client.byte_order.check(receive.region));
  if (receive.next) {
    auto link = client.session->peers().find(receive.next);
    if (link == nullptr) return unknown_peer(receive.next);
    posted.forward = [link = std::move(link), peer_message = receive.peer_message,
                      region = receive.region, busy = client.channel->hold_busy()] {
      return link->forward(peer_message, region, busy);
    };
  }
  OB_RETURN_IF_ERROR(client.session->use(receive.buffer, command.queue).status());
  return mailbox->post(receive.peer_message, std::move(posted));
}

}  // namespace

Status on_open_mailbox(ClientContext& client, const session::Message& message) {
  const auto mailbox = client.session->peers().open_mailbox(client.peers.mailboxes());
  wire::Mailbox answer;
  answer.code = mailbox.status().code();
  if (mailbox.ok()) answer.access_key = (*mailbox)->access_key();
  return client.channel->replies().reply(Opcode::mailbox, {}, message.header.sequence, answer);
}

Status on_close_mailbox(ClientContext& client, const session::Message& /*message*/) {
  client.session->peers().close_mailbox();
  return {};
}

Status on_connect_peer(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto connect, wire::decode<wire::ConnectPeer>(message.body));
  OB_RETURN_IF_ERROR(client.channel->replies().flush());  // this thread waits for the peer
  const Status status = connect_peer(client, connect);
  if (status.code() == Code::protocol_error) return status;
  return client.channel->replies().reply(Opcode::peer, {}, message.header.sequence,
                                         outcome_of(status));
}

Status on_disconnect_peer(ClientContext& client, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto disconnect, wire::decode<wire::DisconnectPeer>(message.body));
  client.session->peers().remove(disconnect.peer);
  return {};
}

// A message that cannot be sent is missing at the other end, which must learn that.
Status on_send(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto send, wire::decode<wire::Send>(command.message.body));
  const auto sent = std::make_shared<Gate>();
  command.queue->last_transfer = sent;
  Status status;
  const auto link = client.session->peers().find(send.peer);
  if (link == nullptr) {
    status = unknown_peer(send.peer);
  } else if (!link->alive()) {
    status = Status(Code::unavailable, "the link to the peer is lost");
  } else {
    status = submit_send(client, command, send, link);
    if (!status.ok()) link->fail();
  }
  if (!status.ok()) sent->open(status);
  return status;
}

Status on_receive(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto receive, wire::decode<wire::Receive>(command.message.body));
  const auto mailbox = client.session->peers().mailbox();
  const auto arrived = std::make_shared<Gate>();
  command.queue->last_transfer = arrived;
  const auto answer = [arrived, reply = answer_of(client, command)](const Status& status) {
    arrived->open(status);
    reply(status);
  };
  const Status status = post_receive(client, command, receive, mailbox.get(), answer);
  if (!status.ok()) {
    answer(status);
    return status.code() == Code::protocol_error ? status : Status();
  }
  return client.session->device().on_reached(
      command.queue->local, false,
      [mailbox, peer_message = receive.peer_message](const QueueReport& report) {
        mailbox->activate(peer_message, report.status);
      });
}

Status on_record_transfer(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto record, wire::decode<wire::Record>(command.message.body));
  if (command.queue->last_transfer == nullptr) {
    return {Code::invalid_argument, "the queue has sent and received no message to record"};
  }
  return client.session->record(record.event, command.queue->last_transfer).status();
}

}  // namespace ob::daemon
