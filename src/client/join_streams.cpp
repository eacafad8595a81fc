#include "client/join_streams.hpp"

#include <array>
#include <cstring>
#include <span>

#include "wire/codec.hpp"

namespace ob::client {
namespace {

using transport::Deadline;
using transport::Stream;
using Streams = std::vector<std::unique_ptr<Stream>>;

// The first message on a stream: it has room for it.
Status ask_to_join(Stream& stream, std::uint8_t index, const wire::Token& ticket) {
  wire::Body body;
  wire::encode(wire::JoinStream{wire::kVersion, index, ticket, ""}, body);
  wire::Header header;
  header.opcode = wire::Opcode::join_stream;
  header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
  std::array<std::byte, wire::kHeaderBytes + wire::kMaxBodyBytes> message;
  wire::encode_header(header, std::span(message).first<wire::kHeaderBytes>());
  std::memcpy(message.data() + wire::kHeaderBytes, body.bytes().data(), body.bytes().size());
  const iovec part{message.data(), wire::kHeaderBytes + body.bytes().size()};
  OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send({&part, 1}));
  return sent == part.iov_len ? Status() : Status(Code::connection_lost, "stream takes no bytes");
}

Status receive(Stream& stream, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const iovec part{bytes.data(), bytes.size()};
    OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive({&part, 1}));
    bytes = bytes.subspan(received);
    if (received == 0) OB_RETURN_IF_ERROR(stream.wait(true, false, deadline));
  }
  return {};
}

// Takes no byte beyond the answer: those belong to what is striped.
Status take_answer(Stream& stream, Deadline deadline) {
  std::array<std::byte, wire::kMaxBodyBytes> memory;
  const auto head = std::span(memory).first<wire::kHeaderBytes>();
  OB_RETURN_IF_ERROR(receive(stream, head, deadline));
  OB_ASSIGN_OR_RETURN(const wire::Header header, wire::decode_header(head));
  if (header.opcode == wire::Opcode::joined) return {};
  if (header.opcode != wire::Opcode::refused) {
    return {Code::protocol_error, "daemon neither takes nor refuses a further stream"};
  }
  const auto body = std::span(memory).first(header.body_bytes);
  OB_RETURN_IF_ERROR(receive(stream, body, deadline));
  OB_ASSIGN_OR_RETURN(const auto refused, wire::decode<wire::Refused>(body));
  return {refused.code, refused.message};
}

}  // namespace

Result<Streams> join_streams(const std::string& address, const wire::Stripes& terms,
                             Deadline deadline) {
  Streams streams;
  for (std::uint8_t index = 1; index <= terms.extra_streams; ++index) {
    OB_ASSIGN_OR_RETURN(auto stream, transport::connect(address, deadline));
    OB_RETURN_IF_ERROR(ask_to_join(*stream, index, terms.ticket));
    streams.push_back(std::move(stream));
  }
  for (const auto& stream : streams) OB_RETURN_IF_ERROR(take_answer(*stream, deadline));
  return streams;
}

}  // namespace ob::client
