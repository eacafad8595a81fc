// Payloads of devices whose memory the host cannot see.

#include <utility>

#include "daemon/server/connection.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {

// In the queue's turn, unlike what goes to memory that the host sees: the device copies it.
Status Connection::stage(const wire::Write& write, std::uint64_t sequence,
                         const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const auto buffer, session_->use(write.buffer, queue));
  OB_ASSIGN_OR_RETURN(const auto writer, session_->writer(*queue));
  const std::uint32_t word_bytes = other_byte_order_ ? write.region.word_bytes : 1;
  OB_RETURN_IF_ERROR(replies_.flush());  // the queue may be waiting for its client to take them
  auto shown = transport::Clock::now();
  return for_each_piece(
      write.region, StagedWriter::kBlockBytes, [&](const Region& piece) -> Status {
        const std::uint64_t size_bytes = packed_bytes(piece);
        OB_ASSIGN_OR_RETURN(std::byte* const room,
                            writer->room(queue, size_bytes, [this] { return show_life(); }));
        // Of many small pieces none takes long, but all of them may.
        if (const auto now = transport::Clock::now(); now - shown > kSignOfLife) {
          OB_RETURN_IF_ERROR(show_life());
          shown = now;
        }
        OB_RETURN_IF_ERROR(take_payload(Layout::bytes(room, size_bytes), word_bytes));
        return writer->submit(*queue, buffer->local, piece, sequence);
      });
}

Result<Connection::Source> Connection::staged_source(const Region& region,
                                                     const SessionBuffer& buffer,
                                                     const std::shared_ptr<SessionQueue>& queue) {
  OB_ASSIGN_OR_RETURN(const QueueId transfers, session_->transfers(*queue));
  Source source;
  source.staged =
      std::make_shared<StagedReader>(session_->device(), transfers, buffer.memory, region);
  return source;
}

// The first elements are waited for, so that a device that fails can still say so. One that fails
// later leaves half a message: the connection is cut.
void Connection::answer_staged(StagedReader& reader, QueueId queue, std::uint64_t sequence,
                               wire::Outcome outcome) {
  (void)replies_.send_in_parts([&](session::MessageSender& sender) {
    const auto begin = [&](const Status& had) {
      if (!had.ok()) {
        outcome.code = had.code();
        outcome.message = had.message();
        outcome.failed_sequence = sequence;
      }
      wire::Body body;
      wire::encode(outcome, body);
      wire::Header header;
      header.opcode = wire::Opcode::data;
      header.queue = queue;
      header.sequence = sequence;
      header.payload_bytes = had.ok() ? reader.total_bytes() : 0;
      return sender.send(header, body.bytes());
    };
    return reader.run(begin, [&](const Layout& part) { return sender.append_payload(part); });
  });
}

}  // namespace ob::daemon
