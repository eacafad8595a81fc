#include <string>

#include "wire/codec.hpp"
#include "wire/detail/bytes.hpp"

namespace ob::wire {
namespace {

Status refuse(std::uint16_t opcode, const std::string& problem) {
  return Status(Code::protocol_error,
                "header of opcode " + std::to_string(opcode) + ": " + problem);
}

// Builds no string unless something is wrong: every message passes here.
Status check(const Header& header) {
  const auto opcode = static_cast<std::uint16_t>(header.opcode);
  const OpcodeFacts& facts = facts_of(header.opcode);
  if (!facts.known()) {
    return refuse(opcode, "the opcode is unknown (docs/wire.md lists those of version " +
                              std::to_string(kVersion) + ") check that the peer is an Outboard " +
                              "program and that the port is right");
  }
  if (header.flags != 0) return refuse(opcode, "flags are not 0 (no version defines any)");
  if (header.body_bytes > kMaxBodyBytes) {
    return refuse(opcode, "body_bytes is " + std::to_string(header.body_bytes) + " (the limit is " +
                              std::to_string(kMaxBodyBytes) + ")");
  }
  if (header.body_bytes % 8 != 0) {
    return refuse(opcode, "body_bytes is " + std::to_string(header.body_bytes) +
                              " (bodies are multiples of 8)");
  }
  if (!facts.has_body() && header.body_bytes != 0) {
    return refuse(opcode, "body_bytes is not 0 (this message has no body)");
  }
  if (!facts.has_payload() && header.payload_bytes != 0) {
    return refuse(opcode, "payload_bytes is not 0 (this message has no payload)");
  }
  return {};
}

}  // namespace

void encode_header(const Header& header, std::span<std::byte, kHeaderBytes> out) noexcept {
  std::byte* const at = out.data();
  detail::store(at, static_cast<std::uint16_t>(header.opcode));
  detail::store(at + 2, header.flags);
  detail::store(at + 4, header.body_bytes);
  detail::store(at + 8, header.queue.value);
  detail::store(at + 16, header.sequence);
  detail::store(at + 24, header.payload_bytes);
}

Result<Header> decode_header(std::span<const std::byte, kHeaderBytes> bytes) {
  const std::byte* const at = bytes.data();
  Header header;
  header.opcode = static_cast<Opcode>(detail::load<std::uint16_t>(at));
  header.flags = detail::load<std::uint16_t>(at + 2);
  header.body_bytes = detail::load<std::uint32_t>(at + 4);
  header.queue.value = detail::load<std::uint64_t>(at + 8);
  header.sequence = detail::load<std::uint64_t>(at + 16);
  header.payload_bytes = detail::load<std::uint64_t>(at + 24);
  OB_RETURN_IF_ERROR(check(header));
  return header;
}

}  // namespace ob::wire
