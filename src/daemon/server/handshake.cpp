#include "daemon/server/handshake.hpp"

#include <chrono>
#include <utility>

#include "base/machine.hpp"
#include "daemon/peers/grant_connection.hpp"
#include "daemon/peers/peer_connection.hpp"
#include "daemon/session/client_connection.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

// The log shows the name that a client gives itself, without characters that control a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
  }
  return text;
}

bool has_magic(const session::Message& first) {
  return wire::Reader(first.body).u32() == wire::kMagic;
}

}  // namespace

Status Handshake::refuse(Code code, const std::string& message) {
  wire::Refused refused;
  refused.code = code;
  refused.message = message;
  may_report_failure_ = false;  // nothing follows a refusal
  ReplyChannel& replies = channel_->replies();
  OB_RETURN_IF_ERROR(replies.reply(Opcode::refused, {}, 0, refused));
  OB_RETURN_IF_ERROR(replies.flush());
  return Status(code, "refused: " + message);
}

Status Handshake::check_version(std::uint16_t version) {
  if (wire::is_known_version(version)) return {};
  return refuse(Code::version_mismatch,
                "client speaks version " + std::to_string(version) + ", this daemon version " +
                    std::to_string(wire::kVersion) + " (install matching releases)");
}

Result<session::Message> Handshake::receive_first() {
  const auto deadline = Clock::now() + services_.handshakes.limits().time;
  session::MessageReceiver& receiver = channel_->receiver();
  Result<std::optional<session::Message>> message = receiver.poll();
  while (message.ok() && !*message) {
    OB_RETURN_IF_ERROR(channel_->stream().wait(true, false, deadline));
    // A wait does not see the deadline while bytes arrive.
    if (Clock::now() >= deadline) return Status(Code::deadline_exceeded, "it took too long");
    message = receiver.poll();
  }
  if (message.status().code() == Code::denied) {
    return refuse(Code::denied, message.status().message());
  }
  OB_RETURN_IF_ERROR(message.status());
  return **message;
}

Result<std::unique_ptr<ServedConnection>> Handshake::accept() {
  OB_ASSIGN_OR_RETURN(const session::Message message, receive_first());
  channel_->set_idle(false);
  switch (message.header.opcode) {
    case Opcode::hello: return accept_client(message);
    case Opcode::join_peer: return accept_peer(message);
    case Opcode::join_stream: return accept_stream(message);
    default: return Status(Code::protocol_error, "the first message must be hello");
  }
}

Status Handshake::become_member() {
  auto seat = services_.members.enter(channel_->stream().user());
  if (!seat.ok()) return refuse(seat.status().code(), seat.status().message());
  seat_ = std::move(*seat);
  return {};
}

// --- a client ------------------------------------------------------------------------------------

Handshake::Accepted Handshake::accept_client(const session::Message& message) {
  may_report_failure_ = has_magic(message);  // unknown programs get no answer
  OB_ASSIGN_OR_RETURN(const wire::Hello hello, wire::decode<wire::Hello>(message.body));
  name_ = printable(hello.client);
  OB_RETURN_IF_ERROR(check_version(hello.version));
  const transport::Stream& stream = channel_->stream();
  const ElementByteOrder byte_order(hello.big_endian);
  if (byte_order.differs() && stream.shares_memory()) {
    return refuse(Code::unsupported,
                  "client has the other byte order (shared memory is not swapped) "
                  "connect over TCP (HOST:PORT)");
  }
  if (stream.from_daemon()) {
    return refuse(Code::denied, "a daemon's key opens no session (use a client's: outboard key)");
  }
  OB_RETURN_IF_ERROR(become_member());
  auto session = services_.sessions.open(hello, stream.user());
  if (!session.ok()) return refuse(session.status().code(), session.status().message());
  session_ = std::move(*session);
  channel_->stream().count_in(session_->use());
  wanted_streams_ = hello.extra_streams;
  wants_kernels_ = (hello.flags & wire::kWantsKernels) != 0;
  if (wants_kernels_ && hello.join == wire::Token{}) {
    session_->modules().enable(granted_kernels(), services_.kernels.longest_kernel_ms);
  }
  version_ = hello.version;
  return std::unique_ptr<ServedConnection>(std::make_unique<ClientConnection>(ClientContext{
      channel_, session_, services_.sessions, services_.peers, byte_order, hello.version}));
}

// A lease gives the library's calls, whatever its holder may do elsewhere. So does a device that is
// lent to a client without one: a kernel could keep the next holder waiting.
GrantedKernels Handshake::granted_kernels() const {
  if (session_->lease() == nullptr) return kernel_rights(services_.kernels, channel_->stream());
  if (session_->lease()->account() == nullptr) {
    return {KernelRights::off, "clients without a lease have no right to kernels here"};
  }
  return {KernelRights::off, "leases of the pool give no right to kernels"};
}

Status Handshake::answer() {
  if (session_ != nullptr) return welcome();
  return channel_->replies().send(Opcode::joined, {}, 0, {});
}

Status Handshake::welcome() {
  const auto session = std::exchange(session_, nullptr);  // from now on the connection holds it
  const DeviceInfo& info = session->device().info();
  wire::Welcome welcome;
  welcome.version = version_;
  welcome.big_endian = wire::kBigEndian;
  welcome.host_visible = info.host_visible ? 1 : 0;
  welcome.token = session->token();
  const bool in_pool = session->lease() != nullptr;  // its client sees one device
  welcome.device = in_pool ? 0 : session->device_index();
  welcome.devices = in_pool ? 1 : services_.sessions.device_count();
  welcome.memory_bytes = info.memory_bytes;
  welcome.gflops_double = info.gflops_double;
  welcome.accuracies = info.accuracies;
  welcome.backend = info.backend;
  welcome.description = info.description;
  welcome.machine = machine_id();
  welcome.processors = info.processors;
  ReplyChannel& replies = channel_->replies();
  OB_RETURN_IF_ERROR(replies.reply(Opcode::welcome, {}, 0, welcome));
  if (version_ >= wire::first_version(Opcode::facts)) {
    OB_RETURN_IF_ERROR(replies.reply(Opcode::facts, {}, 0, wire::Facts{info.routine_rates}));
  }
  if (wants_kernels_) {
    wire::KernelSupport support = session->modules().support();
    if (!services_.peers.may_connect()) support.flags |= wire::kNoPeers;
    OB_RETURN_IF_ERROR(replies.reply(Opcode::kernel_support, {}, 0, support));
  }
  return wanted_streams_ == 0 ? replies.flush() : grant_streams(wanted_streams_);
}

// `stripes` is the last message that travels on the first stream alone.
Status Handshake::grant_streams(std::uint8_t wanted) {
  transport::StripedStream& stream = channel_->stream();
  std::shared_ptr<StripeGroup> group;
  if (stream.can_be_striped()) {
    OB_ASSIGN_OR_RETURN(group, services_.stripes.open(wanted));
  }
  const wire::Stripes terms = group ? group->terms() : wire::Stripes();
  OB_RETURN_IF_ERROR(channel_->replies().reply(Opcode::stripes, {}, 0, terms));
  OB_RETURN_IF_ERROR(channel_->replies().flush());
  if (!group) return {};
  if (!channel_->receiver().idle()) {
    return Status(Code::protocol_error, "client went on before its streams had joined");
  }
  channel_->set_idle(true);
  auto others = group->gather(stream);
  channel_->set_idle(false);
  OB_RETURN_IF_ERROR(others.status());
  stream.stripe(std::move(others).value(), terms.block_bytes);
  return {};
}

// --- another daemon ------------------------------------------------------------------------------

Handshake::Accepted Handshake::accept_peer(const session::Message& message) {
  may_report_failure_ = has_magic(message);
  OB_ASSIGN_OR_RETURN(const auto join, wire::decode<wire::JoinPeer>(message.body));
  name_ = "a daemon's device";
  OB_RETURN_IF_ERROR(check_version(join.version));
  const transport::Stream& stream = channel_->stream();
  if (!stream.user().empty() && !stream.from_daemon()) {
    return refuse(Code::denied, "only daemons deliver to a mailbox");
  }
  auto mailbox = services_.peers.mailboxes().find(join.access_key);
  const bool grants = mailbox == nullptr && services_.peers.grants().find(join.access_key);
  if (mailbox == nullptr && !grants) {
    return refuse(Code::invalid_argument,
                  "no such mailbox or grant (it was closed, or the access key is wrong)");
  }
  OB_RETURN_IF_ERROR(become_member());
  const bool same_order = join.big_endian == wire::kBigEndian;
  if (grants) {
    // Only the certificate of a daemon vouches for a user.
    return std::unique_ptr<ServedConnection>(std::make_unique<GrantConnection>(
        channel_, services_.peers.grants(), services_.sessions.life_signs(),
        stream.from_daemon() ? join.identity : std::string(), same_order));
  }
  return std::unique_ptr<ServedConnection>(std::make_unique<PeerConnection>(
      channel_, std::move(mailbox), ElementByteOrder(join.big_endian)));
}

// --- a further stream of a client ----------------------------------------------------------------

Handshake::Accepted Handshake::accept_stream(const session::Message& message) {
  may_report_failure_ = has_magic(message);
  OB_ASSIGN_OR_RETURN(const auto join, wire::decode<wire::JoinStream>(message.body));
  name_ = "stream " + std::to_string(join.index) + " of a client";
  OB_RETURN_IF_ERROR(check_version(join.version));
  if (!channel_->receiver().idle()) {
    return Status(Code::protocol_error, "client went on before its streams had joined");
  }
  transport::StripedStream& stream = channel_->stream();
  if (!stream.can_be_striped()) {
    return refuse(Code::unsupported, "this transport is not striped (connect over TCP)");
  }
  const Status joined = services_.stripes.join(join, stream);
  if (!joined.ok()) return refuse(joined.code(), joined.message());
  return std::unique_ptr<ServedConnection>();
}

}  // namespace ob::daemon
