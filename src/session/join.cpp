#include "session/join.hpp"

#include <array>
#include <cstring>

namespace ob::session {
namespace {

using transport::Deadline;
using transport::Stream;

Status receive(Stream& stream, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const iovec part{bytes.data(), bytes.size()};
    OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive({&part, 1}));
    bytes = bytes.subspan(received);
    if (received == 0) OB_RETURN_IF_ERROR(stream.wait(true, false, deadline));
  }
  return {};
}

}  // namespace

Status ask_to_join(Stream& stream, wire::Opcode opcode, std::span<const std::byte> body) {
  wire::Header header;
  header.opcode = opcode;
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::array<std::byte, wire::kHeaderBytes + wire::kMaxBodyBytes> message;
  wire::encode_header(header, std::span(message).first<wire::kHeaderBytes>());
  std::memcpy(message.data() + wire::kHeaderBytes, body.data(), body.size());
  const iovec part{message.data(), wire::kHeaderBytes + body.size()};
  OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send({&part, 1}));
  return sent == part.iov_len ? Status() : Status(Code::connection_lost, "stream takes no bytes");
}

Status take_joined(Stream& stream, Deadline deadline) {
  std::array<std::byte, wire::kMaxBodyBytes> memory;
  const auto head = std::span(memory).first<wire::kHeaderBytes>();
  OB_RETURN_IF_ERROR(receive(stream, head, deadline));
  OB_ASSIGN_OR_RETURN(const wire::Header header, wire::decode_header(head));
  if (header.opcode == wire::Opcode::joined) return {};
  if (header.opcode != wire::Opcode::refused) {
    return {Code::protocol_error, "daemon neither takes nor refuses a stream that is to join"};
  }
  const auto body = std::span(memory).first(header.body_bytes);
  OB_RETURN_IF_ERROR(receive(stream, body, deadline));
  OB_ASSIGN_OR_RETURN(const auto refused, wire::decode<wire::Refused>(body));
  return {refused.code, refused.message};
}

}  // namespace ob::session
