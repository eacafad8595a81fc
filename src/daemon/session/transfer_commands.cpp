#include "daemon/session/transfer_commands.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/chunks.hpp"
#include "daemon/memory/region_pieces.hpp"
#include "daemon/memory/staged_reader.hpp"
#include "daemon/session/buffer_waits.hpp"
#include "daemon/session/queue_answers.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

// The payload of an answer; held until it is sent.
struct Source {
  std::shared_ptr<const void> memory;
  Layout elements;
  std::shared_ptr<StagedReader> staged;  // set instead if the host cannot see the elements
};

Status exceeds(const char* command, BufferId id, const SessionBuffer& buffer) {
  return {Code::invalid_argument, std::string(command) + " exceeds buffer " +
                                      std::to_string(id.value) + " of " +
                                      std::to_string(buffer.size_bytes) + " bytes"};
}

// The device copies the payload in the queue's turn. Visible memory receives it without the device.
Status write_staged(ClientContext& client, const QueueCommand& command, const wire::Write& write) {
  const auto& queue = command.queue;
  OB_ASSIGN_OR_RETURN(const auto buffer, client.session->use(write.buffer, queue));
  OB_ASSIGN_OR_RETURN(StagedWriter* const writer, client.session->writer(*queue));
  const std::uint32_t word_bytes = client.byte_order.swapped_word_bytes(write.region);
  Channel& channel = *client.channel;
  OB_RETURN_IF_ERROR(channel.replies().flush());  // the queue may wait for the client
  return for_each_piece(
      write.region, StagedWriter::kBlockBytes, [&](const Region& piece) -> Status {
        const std::uint64_t size_bytes = packed_bytes(piece);
        OB_ASSIGN_OR_RETURN(std::byte* const room,
                            writer->room(size_bytes, [&] { return channel.check_peer(); }));
        OB_RETURN_IF_ERROR(channel.receive_payload(Layout::bytes(room, size_bytes), word_bytes));
        OB_RETURN_IF_ERROR(writer->submit(buffer->local, piece));
        queue->log->note(command.sequence());
        return {};
      });
}

Result<Source> elements_of(ClientContext& client, const QueueCommand& command,
                           const wire::Read& read) {
  Session& session = *client.session;
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session.buffer(read.buffer));
  if (!fits(read.region, buffer.size_bytes)) return exceeds("read", read.buffer, buffer);
  OB_RETURN_IF_ERROR(client.byte_order.check(read.region));
  OB_RETURN_IF_ERROR(session.use(read.buffer, command.queue).status());
  std::byte* const memory = session.device().host_view(buffer.memory->local);
  if (memory != nullptr) return Source{buffer.memory, Layout::matrix(memory, read.region), nullptr};
  OB_ASSIGN_OR_RETURN(const QueueId transfers, session.transfers(*command.queue));
  return Source{
      nullptr,
      {},
      std::make_shared<StagedReader>(session.device(), transfers, buffer.memory, read.region)};
}

// The device computes the digests in the queue's turn. The answer sends them from this memory.
Result<Source> digests_of(ClientContext& client, const QueueCommand& command,
                          const wire::Digest& asked) {
  const Chunks chunks(asked.region, asked.chunk_bytes);
  if (chunks.count() > wire::kMaxDigests) {
    return Status(Code::invalid_argument, "digest asks for " + std::to_string(chunks.count()) +
                                              " chunks (the limit is " +
                                              std::to_string(wire::kMaxDigests) + ")");
  }
  struct Digests {
    Reservation memory;
    std::vector<Digest> values;
  };
  Session& session = *client.session;
  const std::uint64_t answer_bytes = chunks.count() * sizeof(Digest);
  OB_ASSIGN_OR_RETURN(Reservation memory, session.reserve_host(answer_bytes));
  OB_ASSIGN_OR_RETURN(const auto buffer, session.use(asked.buffer, command.queue));
  const auto digests =
      std::make_shared<Digests>(Digests{std::move(memory), std::vector<Digest>(chunks.count())});
  OB_RETURN_IF_ERROR(session.device().digest(command.queue->local, buffer->local, asked.region,
                                             asked.chunk_bytes, digests->values));
  command.queue->log->note(command.sequence());
  return Source{digests, Layout::bytes(digests->values.data(), answer_bytes), nullptr};
}

// Waits for the first elements, so that the answer can still report a failure of the device. After
// a later failure a part of the message has been sent: the connection is cut.
void send_staged(const QueueAnswer& answer, StagedReader& reader, wire::Outcome outcome) {
  (void)answer.channel->replies().send_in_parts([&](session::MessageSender& sender) {
    const auto begin = [&](const Status& had) {
      if (!had.ok()) {
        answer.queue->note_told(had, answer.sequence);
        outcome.code = had.code();
        outcome.message = had.message();
        outcome.failed_sequence = answer.sequence;
      }
      wire::Body body;
      wire::encode(outcome, body);
      wire::Header header;
      header.opcode = Opcode::data;
      header.queue = answer.id;
      header.sequence = answer.sequence;
      header.payload_bytes = had.ok() ? reader.total_bytes() : 0;
      return sender.send(header, body.bytes());
    };
    return reader.run(begin, [&](const Layout& part) { return sender.append_payload(part); });
  });
}

// Sends the source once the queue gets here.
Status answer_with(ClientContext& client, const QueueCommand& command, Source source) {
  return order_answer(client, command, false,
                      [answer = begin_answer(client, command),
                       source = std::move(source)](const QueueReport& report) {
                        wire::Outcome outcome = answer.outcome(report);
                        const bool deliver = outcome.code == Code::ok;
                        if (deliver && source.staged != nullptr) {
                          send_staged(answer, *source.staged, std::move(outcome));
                        } else {
                          const Layout elements = deliver ? source.elements : Layout();
                          (void)answer.channel->replies().reply(Opcode::data, answer.id,
                                                                answer.sequence, outcome, elements);
                        }
                        answer.finish();
                      });
}

// An unavailable source makes the queue fail, and the answer reports this.
template <class Message>
Status answer_from(ClientContext& client, const QueueCommand& command,
                   Result<Source> (*find)(ClientContext&, const QueueCommand&, const Message&)) {
  OB_ASSIGN_OR_RETURN(const auto asked, wire::decode<Message>(command.message.body));
  SessionQueue& queue = *command.queue;
  Source source;
  if (queue.failure.ok()) {
    auto found = find(client, command, asked);
    if (found.ok()) {
      source = std::move(found).value();
    } else {
      queue.fail(found.status(), command.sequence());
    }
  }
  return answer_with(client, command, std::move(source));
}

}  // namespace

Status on_write(ClientContext& client, const QueueCommand& command) {
  OB_ASSIGN_OR_RETURN(const auto write, wire::decode<wire::Write>(command.message.body));
  if (packed_bytes(write.region) != command.message.header.payload_bytes) {
    return {Code::protocol_error, "write's payload is not as long as its region"};
  }
  Session& session = *client.session;
  // Holds the buffer: another connection of the session may free it while the payload arrives.
  OB_ASSIGN_OR_RETURN(const SessionBuffer buffer, session.buffer(write.buffer));
  if (!fits(write.region, buffer.size_bytes)) return exceeds("write", write.buffer, buffer);
  OB_RETURN_IF_ERROR(client.byte_order.check(write.region));
  std::byte* const memory = session.device().host_view(buffer.memory->local);
  if (memory == nullptr) return write_staged(client, command, write);
  // The buffer's memory is about to change.
  std::vector<BufferUse> uses = session.open_uses(write.buffer);
  // Elements do not overtake a wait for a gate.
  if (command.queue->holds.any()) {
    uses.push_back({command.queue, command.queue->submitted - 1});
  }
  OB_RETURN_IF_ERROR(wait_for(client, uses));
  return client.channel->receive_payload(Layout::matrix(memory, write.region),
                                         client.byte_order.swapped_word_bytes(write.region));
}

Status on_read(ClientContext& client, const QueueCommand& command) {
  return answer_from<wire::Read>(client, command, elements_of);
}

Status on_digest(ClientContext& client, const QueueCommand& command) {
  return answer_from<wire::Digest>(client, command, digests_of);
}

}  // namespace ob::daemon
