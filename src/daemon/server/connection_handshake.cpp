// How a connection begins: who the client is, which session it gets, whether it is striped.

#include <chrono>
#include <utility>

#include "daemon/server/connection.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

constexpr auto kHandshakeTime = std::chrono::seconds(10);

// What a client calls itself ends in the log: nothing that a terminal would obey.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return text;
}

bool is_ours(const session::Message& hello) {
  return wire::Reader(hello.body).u32() == wire::kMagic;
}

}  // namespace

Status Connection::refuse(Code code, const std::string& message) {
  wire::Refused refused;
  refused.code = code;
  refused.message = message;
  may_explain_ = false;  // refused is the last word
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::refused, {}, 0, refused));
  OB_RETURN_IF_ERROR(replies_.flush());
  return Status(code, "refused: " + message);
}

Status Connection::refuse_version(std::uint16_t version) {
  return refuse(Code::version_mismatch,
                "client speaks version " + std::to_string(version) + ", this daemon version " +
                    std::to_string(wire::kVersion) + " (install matching releases)");
}

Status Connection::receive_hello(session::Message& hello) {
  const auto deadline = Clock::now() + kHandshakeTime;
  Result<std::optional<session::Message>> message = receiver_.poll();
  while (message.ok() && !*message) {
    OB_RETURN_IF_ERROR(stream_->wait(true, false, deadline));
    message = receiver_.poll();
  }
  if (message.status().code() == Code::denied)
    return refuse(Code::denied, message.status().message());
  OB_RETURN_IF_ERROR(message.status());
  hello = **message;
  return {};
}

// After it there is a session, or the stream belongs to another connection.
Status Connection::shake_hands() {
  session::Message message;
  OB_RETURN_IF_ERROR(receive_hello(message));
  resting_ = false;
  if (message.header.opcode == Opcode::join_stream) {
    may_explain_ = is_ours(message);
    OB_ASSIGN_OR_RETURN(const auto join_stream, wire::decode<wire::JoinStream>(message.body));
    return join(join_stream);
  }
  if (message.header.opcode == Opcode::join_peer) {
    may_explain_ = is_ours(message);
    OB_ASSIGN_OR_RETURN(const auto join_peer, wire::decode<wire::JoinPeer>(message.body));
    return join_as_peer(join_peer);
  }
  if (message.header.opcode != Opcode::hello) {
    return Status(Code::protocol_error, "the first message must be hello");
  }
  may_explain_ = is_ours(message);  // strangers are not talked to
  OB_ASSIGN_OR_RETURN(const wire::Hello hello, wire::decode<wire::Hello>(message.body));
  client_ = printable(hello.client);
  if (hello.version != wire::kVersion) return refuse_version(hello.version);
  other_byte_order_ = hello.big_endian != wire::kBigEndian;
  if (other_byte_order_ && stream_->shares_memory()) {
    return refuse(Code::unsupported,
                  "client has the other byte order (shared memory is not swapped) "
                  "connect over TCP (HOST:PORT)");
  }
  if (stream_->from_daemon()) {
    return refuse(Code::denied, "a daemon's key opens no session (use a client's: outboard key)");
  }
  auto session = directory_.open(hello, stream_->user());
  if (!session.ok()) return refuse(session.status().code(), session.status().message());
  session_ = *session;
  session_name_ = session_.get();
  return welcome(hello);
}

Status Connection::welcome(const wire::Hello& hello) {
  const DeviceInfo& info = session_->device().info();
  wire::Welcome welcome;
  welcome.big_endian = wire::kBigEndian;
  welcome.host_visible = info.host_visible ? 1 : 0;
  welcome.token = session_->token();
  welcome.device = session_->device_index();
  welcome.devices = directory_.device_count();
  welcome.memory_bytes = info.memory_bytes;
  welcome.gflops_double = info.gflops_double;
  welcome.accuracies = info.accuracies;
  welcome.backend = info.backend;
  welcome.description = info.description;
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::welcome, {}, 0, welcome));
  return hello.extra_streams == 0 ? replies_.flush() : grant_streams(hello.extra_streams);
}

// `stripes` is the last message that travels on the first stream alone.
Status Connection::grant_streams(std::uint8_t wanted) {
  std::shared_ptr<StripeGroup> group;
  if (stream_->can_be_striped()) {
    OB_ASSIGN_OR_RETURN(group, directory_.stripes().open(wanted));
  }
  const wire::Stripes terms = group ? group->terms() : wire::Stripes();
  OB_RETURN_IF_ERROR(replies_.reply(Opcode::stripes, {}, 0, terms));
  OB_RETURN_IF_ERROR(replies_.flush());
  if (!group) return {};
  if (!receiver_.idle()) {
    return Status(Code::protocol_error, "client went on before its streams had joined");
  }
  resting_ = true;
  auto others = group->gather(*stream_);
  resting_ = false;
  OB_RETURN_IF_ERROR(others.status());
  stream_->stripe(std::move(others).value(), terms.block_bytes);
  return {};
}

// Gives the stream to the connection that waits for it.
Status Connection::join(const wire::JoinStream& message) {
  client_ = "stream " + std::to_string(message.index) + " of a client";
  if (message.version != wire::kVersion) return refuse_version(message.version);
  if (!receiver_.idle()) {
    return Status(Code::protocol_error, "client went on before its streams had joined");
  }
  if (!stream_->can_be_striped()) {
    return refuse(Code::unsupported, "this transport is not striped (connect over TCP)");
  }
  const Status joined = directory_.stripes().join(message, *stream_);
  return joined.ok() ? joined : refuse(joined.code(), joined.message());
}

}  // namespace ob::daemon
