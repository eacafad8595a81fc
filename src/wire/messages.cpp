// Encodes and decodes every body by its field list.

#include <utility>

#include "wire/message_fields.hpp"

namespace ob::wire {
namespace {

// The name of the body in error messages: that of its opcode. An outcome has several.
template <class Message>
constexpr const char* name_of() {
  if (std::is_same_v<Message, Outcome>) return "outcome";
  return to_string(kFields<Message>.opcodes[0]).data();
}

template <class Message>
bool is_of_known_version(const Message& message) {
  if constexpr (requires { message.version; }) return is_known_version(message.version);
  return false;
}

}  // namespace

template <class Message>
void encode(const Message& message, Body& body) noexcept {
  put_all(body, message);
}

template <class Message>
Result<Message> decode(std::span<const std::byte> bytes) {
  Fields in(name_of<Message>(), bytes);
  Message message;
  const bool complete = take_all(in, message);
  // The rest of a message of an unknown version may mean anything.
  if (complete || !in.ok() || is_of_known_version(message)) OB_RETURN_IF_ERROR(in.finish());
  return message;
}

#define OB_WIRE_INSTANTIATE(Message)                    \
  template void encode(const Message&, Body&) noexcept; \
  template Result<Message> decode(std::span<const std::byte>);
OB_WIRE_BODIES(OB_WIRE_INSTANTIATE)
#undef OB_WIRE_INSTANTIATE

}  // namespace ob::wire
