#include "client/handshake.hpp"

#include <errno.h>  // program_invocation_short_name
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/join_streams.hpp"
#include "client/silence_watch.hpp"
#include "client/unexpected.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::client {
namespace {

using transport::Clock;

std::string program_and_pid() {
  return std::string(program_invocation_short_name) + " pid " + std::to_string(::getpid());
}

Status refusal(const std::string& address, const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const wire::Refused refused, wire::decode<wire::Refused>(message.body));
  return Status(refused.code == Code::ok ? Code::denied : refused.code,
                address + " refused the connection: " + refused.message);
}

// A thread that wakes late gets more time than the deadline, and looks once more.
Result<session::Message> next_message(const NewStream& with) {
  SilenceWatch silence;
  const auto limit = with.deadline - Clock::now();
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, with.receiver.poll());
    if (message) return *message;
    if (silence.is_longer_than(limit)) {
      return Status(Code::deadline_exceeded, with.stream.peer() + " let the deadline pass");
    }
    const auto begin = Clock::now();
    const auto planned_end =
        begin + std::min<Clock::duration>(silence.left(limit), SilenceWatch::kLongestWait);
    const Status status = with.stream.wait(true, false, planned_end);
    silence.waited(begin, planned_end, Clock::now());
    if (status.code() != Code::deadline_exceeded) OB_RETURN_IF_ERROR(status);
  }
}

Result<wire::Welcome> welcome_of(const std::string& address, const session::Message& message) {
  if (message.header.opcode == wire::Opcode::refused) return refusal(address, message);
  if (message.header.opcode != wire::Opcode::welcome) return unexpected(message);
  OB_ASSIGN_OR_RETURN(wire::Welcome welcome, wire::decode<wire::Welcome>(message.body));
  if (welcome.version == wire::kVersion) return welcome;
  return Status(Code::version_mismatch,
                address + " speaks version " + std::to_string(welcome.version) +
                    " of the protocol, and this library version " + std::to_string(wire::kVersion) +
                    "; install matching releases");
}

}  // namespace

Result<Greeting> shake_hands(const NewStream& with, wire::Hello hello) {
  hello.big_endian = wire::kBigEndian;
  hello.client = program_and_pid();
  wire::Body body;
  wire::encode(hello, body);
  wire::Header header;
  header.opcode = wire::Opcode::hello;
  OB_RETURN_IF_ERROR(with.sender.send(header, body.bytes()));
  OB_RETURN_IF_ERROR(with.sender.flush());
  OB_ASSIGN_OR_RETURN(const session::Message answer, next_message(with));
  Greeting greeting;
  OB_ASSIGN_OR_RETURN(greeting.welcome, welcome_of(with.address, answer));
  OB_ASSIGN_OR_RETURN(const session::Message next, next_message(with));
  if (next.header.opcode != wire::Opcode::facts) return unexpected(next);
  OB_ASSIGN_OR_RETURN(greeting.facts, wire::decode<wire::Facts>(next.body));
  if ((hello.flags & wire::kWantsKernels) != 0) {
    OB_ASSIGN_OR_RETURN(const session::Message kernels, next_message(with));
    if (kernels.header.opcode != wire::Opcode::kernel_support) return unexpected(kernels);
    OB_ASSIGN_OR_RETURN(greeting.kernels, wire::decode<wire::KernelSupport>(kernels.body));
  }
  return greeting;
}

Status add_streams(const NewStream& with, std::uint8_t extra_streams) {
  // `stripes` is the last message that travels on the first stream alone
  OB_ASSIGN_OR_RETURN(const session::Message message, next_message(with));
  if (message.header.opcode != wire::Opcode::stripes) return unexpected(message);
  OB_ASSIGN_OR_RETURN(const auto granted, wire::decode<wire::Stripes>(message.body));
  if (granted.extra_streams == 0) return {};
  if (granted.extra_streams > extra_streams || !with.receiver.idle()) return unexpected(message);
  OB_ASSIGN_OR_RETURN(auto others, join_streams(with.stream.peer(), granted, with.deadline));
  with.stream.stripe(std::move(others), granted.block_bytes);
  return {};
}

}  // namespace ob::client
