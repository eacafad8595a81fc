#include "daemon/peers/peer_directory.hpp"

#include <chrono>
#include <utility>
#include <variant>

#include "session/join.hpp"
#include "transport/address.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

// The limit for a silent daemon. It is shorter than that of a client.
constexpr auto kConnectTime = std::chrono::milliseconds(2000);

}  // namespace

Result<std::unique_ptr<PeerTransport>> PeerDirectory::connect(const wire::Token& access_key,
                                                              const std::string& address,
                                                              const Mailbox* own) {
  if (auto mailbox = mailboxes_.find(access_key)) {
    if (mailbox.get() == own) {
      return Status(Code::invalid_argument, "a session is no peer of its own");
    }
    return make_local_transport(std::move(mailbox));
  }
  OB_ASSIGN_OR_RETURN(auto stream, open(access_key, address, {}));
  return make_stream_transport(std::move(stream));
}

Result<std::unique_ptr<transport::Stream>> PeerDirectory::open(const wire::Token& secret,
                                                               const std::string& address,
                                                               const std::string& user) {
  auto stream = join(secret, address, user);
  if (stream.ok()) return stream;
  // An unknown daemon cannot affect the client's own connection, whether it answers or not.
  Code code = stream.status().code();
  if (code == Code::protocol_error || code == Code::connection_lost ||
      code == Code::deadline_exceeded) {
    code = Code::unavailable;
  }
  return Status(code, stream.status().message()).in("cannot reach the peer " + address);
}

Result<std::unique_ptr<transport::Stream>> PeerDirectory::join(const wire::Token& access_key,
                                                               const std::string& address,
                                                               const std::string& user) {
  const auto deadline = transport::Clock::now() + kConnectTime;
  OB_ASSIGN_OR_RETURN(auto stream, open_stream(address, deadline));
  wire::JoinPeer message;
  message.big_endian = wire::kBigEndian;
  message.access_key = access_key;
  message.identity = user;
  wire::Body body;
  wire::encode(message, body);
  OB_RETURN_IF_ERROR(session::ask_to_join(*stream, wire::Opcode::join_peer, body.bytes()));
  OB_RETURN_IF_ERROR(session::take_joined(*stream, deadline));
  return stream;
}

// A daemon connects only where it may listen: without a key only on this machine.
Result<std::unique_ptr<transport::Stream>> PeerDirectory::open_stream(
    const std::string& address, transport::Deadline deadline) {
  if (!may_connect_) {
    return Status(Code::denied, "this daemon connects to no others (--no-peers)");
  }
  OB_ASSIGN_OR_RETURN(const transport::Address parsed, transport::parse_address(address));
  if (!std::holds_alternative<transport::TcpAddress>(parsed)) {
    return Status(Code::unsupported, "daemons reach each other over TCP only");
  }
  if (security_ == nullptr && !transport::stays_on_this_machine(address)) {
    return Status(Code::denied, "without a key this daemon connects to none on other machines");
  }
  return transport::connect(address, deadline, security_.get());
}

}  // namespace ob::daemon
