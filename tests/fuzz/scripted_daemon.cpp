#include "fuzz/scripted_daemon.hpp"

#include "base/chunks.hpp"
#include "fuzz/failure.hpp"
#include "transport/sealed_memory.hpp"
#include "wire/byte_swap.hpp"

namespace ob::fuzz {
namespace {

using wire::Opcode;

constexpr std::uint64_t kSegmentBytes = std::uint64_t{64} << 10;

template <class Message>
Message asked_for(const RawMessage& asked) {
  auto message = wire::decode<Message>(View(asked.body));
  expect(message.ok(), "our own client speaks well");
  return std::move(message).value();
}

}  // namespace

template <class Message>
void ScriptedDaemon::say(Opcode opcode, const wire::Header& to, const Message& message,
                         std::size_t payload_bytes) {
  wire::Body body;
  wire::encode(message, body);
  const Bytes payload(payload_bytes);
  append(said_, raw_message({.opcode = opcode, .queue = to.queue, .sequence = to.sequence},
                            body.bytes(), payload));
}

void ScriptedDaemon::answer(const RawMessage& asked) {
  const auto header =
      *wire::decode_header(std::span<const std::byte, wire::kHeaderBytes>(asked.header));
  wire::Outcome outcome;
  outcome.credits = 1;
  switch (header.opcode) {
    case Opcode::hello: {
      wire::Welcome welcome;
      welcome.big_endian = wire::kBigEndian;
      welcome.host_visible = shares_memory_ ? 1 : 0;
      welcome.token = {1, 2};
      welcome.devices = 1;
      welcome.memory_bytes = 1 << 20;
      welcome.backend = "null";
      say(Opcode::welcome, header, welcome);
      say(Opcode::facts, header, wire::Facts{{{RateFamily::lu, 1e6, 2.5}}});
      if ((asked_for<wire::Hello>(asked).flags & wire::kWantsKernels) != 0) {
        say(Opcode::kernel_support, header, wire::KernelSupport{2, 60000, wire::kNoPeers, ""});
      }
      break;
    }
    case Opcode::locate:
      say(Opcode::location, header, wire::Location{Code::ok, 0, kSegmentBytes});
      break;
    case Opcode::read:
      say(Opcode::data, header, outcome, packed_bytes(asked_for<wire::Read>(asked).region));
      break;
    case Opcode::digest: {
      const auto digest = asked_for<wire::Digest>(asked);
      say(Opcode::data, header, outcome, 16 * Chunks(digest.region, digest.chunk_bytes).count());
      break;
    }
    case Opcode::open_mailbox: say(Opcode::mailbox, header, wire::Mailbox{Code::ok, {3, 4}}); break;
    case Opcode::connect_peer: say(Opcode::peer, header, wire::Outcome{}); break;
    case Opcode::receive: say(Opcode::received, header, wire::Outcome{}); break;
    case Opcode::mark: say(Opcode::reached, header, wire::Reached{1, outcome}); break;
    case Opcode::load_module: say(Opcode::module, header, wire::ModuleAnswer{}); break;
    case Opcode::synchronize: say(Opcode::done, header, outcome); break;
    case Opcode::ping:
      append(said_,
             raw_message({.opcode = Opcode::pong, .queue = {}, .sequence = header.sequence}, {}));
      break;
    default: break;
  }
}

Result<std::size_t> ScriptedDaemon::try_send(std::span<const iovec> parts) {
  std::size_t sent = 0;
  for (const iovec& part : parts) {
    append(heard_, View(static_cast<const std::byte*>(part.iov_base), part.iov_len));
    sent += part.iov_len;
  }
  std::vector<RawMessage> pieces = split(heard_);
  heard_.clear();
  for (const RawMessage& piece : pieces) {
    const bool complete = piece.whole() &&
                          piece.body.size() == piece.number<std::uint32_t>(kBodyBytesAt) &&
                          piece.payload.size() == piece.number<std::uint64_t>(kPayloadBytesAt);
    complete ? answer(piece) : append(heard_, piece);
  }
  return sent;
}

Result<std::size_t> ScriptedDaemon::try_receive(std::span<const iovec> parts) {
  std::size_t received = 0;
  for (const iovec& part : parts) {
    const std::size_t size = std::min(part.iov_len, said_.size() - told_);
    if (size > 0) std::memcpy(part.iov_base, said_.data() + told_, size);
    told_ += size;
    received += size;
  }
  return received;
}

Status ScriptedDaemon::wait(bool, bool want_send, transport::Deadline) {
  if (want_send || told_ < said_.size()) return {};
  return {Code::connection_lost, "the client waits for what nobody owes it"};
}

Status ScriptedDaemon::send_segment(int) { return {Code::unsupported, "clients send none"}; }

Result<transport::Segment> ScriptedDaemon::receive_segment(transport::Deadline) {
  auto memory = transport::create_sealed_memory("fuzz", kSegmentBytes);
  if (!memory.ok()) return memory.status();
  return transport::Segment{memory->release()};
}

}  // namespace ob::fuzz
