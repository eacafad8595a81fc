#include "fuzz/speech.hpp"

#include "fuzz/failure.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"

namespace ob::fuzz {
namespace {

using wire::Opcode;

constexpr auto kFirstOfDaemon = static_cast<Opcode>(64);  // docs/wire.md, section 4

template <class Message>
Message said(View body) {
  auto message = wire::decode<Message>(body);
  if (!message.ok()) fail(message.status().message().c_str());
  return std::move(message).value();
}

}  // namespace

void Speech::hear(View bytes) {
  while (!bytes.empty()) {
    const std::uint64_t payload = std::min<std::uint64_t>(payload_left_, bytes.size());
    payload_left_ -= payload;
    bytes = bytes.subspan(payload);
    if (payload_left_ > 0) return;
    std::size_t wanted = wire::kHeaderBytes;
    const auto header_bytes = [&] { return View(gathered_).first<wire::kHeaderBytes>(); };
    if (gathered_.size() >= wanted) wanted += wire::decode_header(header_bytes())->body_bytes;
    const std::size_t taken = std::min(wanted - gathered_.size(), bytes.size());
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.begin() + static_cast<long>(taken));
    bytes = bytes.subspan(taken);
    if (gathered_.size() < wire::kHeaderBytes) return;
    const auto header = wire::decode_header(header_bytes());
    if (!header.ok()) fail(header.status().message().c_str());
    if (gathered_.size() < wire::kHeaderBytes + header->body_bytes) continue;
    hear(*header, View(gathered_).subspan(wire::kHeaderBytes));
    payload_left_ = header->payload_bytes;
    gathered_.clear();
  }
}

void Speech::hear(const wire::Header& header, View body) {
  expect(!over_, "nothing follows the last word");
  const bool from_daemon = header.opcode >= kFirstOfDaemon;
  expect(from_daemon == (side_ == Side::daemon), "each side has its own messages");
  from_daemon ? hear_daemon(header, body) : hear_client(header, body);
  ++messages_;
}

// Messages that are not named here are framed rightly, at least.
void Speech::hear_daemon(const wire::Header& header, View body) {
  const bool first = messages_ == 0;
  switch (header.opcode) {
    case Opcode::welcome: {
      expect(first, "welcome is the first message");
      const auto welcome = said<wire::Welcome>(body);
      if (welcomed) welcomed(welcome.token);
      break;
    }
    case Opcode::refused:
      expect(said<wire::Refused>(body).code != Code::ok, "a refusal has a reason");
      over_ = true;
      break;
    case Opcode::failed:
      expect(said<wire::Outcome>(body).code != Code::ok, "a failure has a reason");
      over_ = true;
      break;
    case Opcode::data: {
      const auto outcome = said<wire::Outcome>(body);
      expect(outcome.code == Code::ok || header.payload_bytes == 0, "no data of what failed");
      break;
    }
    case Opcode::done: (void)said<wire::Outcome>(body); break;
    case Opcode::credit: (void)said<wire::Credit>(body); break;
    case Opcode::location: (void)said<wire::Location>(body); break;
    case Opcode::mailbox: {
      const auto mailbox = said<wire::Mailbox>(body);
      if (opened && mailbox.code == Code::ok) opened(mailbox.access_key);
      break;
    }
    case Opcode::peer:
    case Opcode::received: (void)said<wire::Outcome>(body); break;
    default: break;
  }
  const bool may_be_first = over_ || header.opcode == Opcode::welcome ||
                            header.opcode > Opcode::failed;  // of a later version
  expect(!first || may_be_first, "the handshake comes first");
}

void Speech::hear_client(const wire::Header& header, View body) {
  expect((header.opcode == Opcode::hello) == (messages_ == 0), "hello is the first message");
  if (header.opcode != Opcode::hello && header.opcode != Opcode::ping)
    expect(header.sequence == ++sequence_, "commands are numbered 1, 2, 3 ...");
  switch (header.opcode) {
    case Opcode::hello: (void)said<wire::Hello>(body); break;
    case Opcode::set_accuracy: (void)said<wire::SetAccuracy>(body); break;
    case Opcode::allocate: (void)said<wire::Allocate>(body); break;
    case Opcode::free: (void)said<wire::Free>(body); break;
    case Opcode::locate: (void)said<wire::Locate>(body); break;
    case Opcode::write:
      expect(packed_bytes(said<wire::Write>(body).region) == header.payload_bytes,
             "the payload is as long as its region");
      break;
    case Opcode::read: (void)said<wire::Read>(body); break;
    case Opcode::digest: (void)said<wire::Digest>(body); break;
    case Opcode::copy: (void)said<wire::Copy>(body); break;
    case Opcode::call: expect(decode_call(body).ok(), "calls decode"); break;
    case Opcode::make_plan: expect(decode_plan(body).ok(), "plans decode"); break;
    case Opcode::destroy_plan: (void)said<wire::DestroyPlan>(body); break;
    case Opcode::execute_plan: (void)said<wire::ExecutePlan>(body); break;
    case Opcode::record: (void)said<wire::Record>(body); break;
    case Opcode::wait: (void)said<wire::Wait>(body); break;
    case Opcode::connect_peer: (void)said<wire::ConnectPeer>(body); break;
    case Opcode::disconnect_peer: (void)said<wire::DisconnectPeer>(body); break;
    case Opcode::send: (void)said<wire::Send>(body); break;
    case Opcode::receive: (void)said<wire::Receive>(body); break;
    case Opcode::join_peer:
    case Opcode::peer_message: fail("daemons say that"); break;
    case Opcode::goodbye: over_ = true; break;
    default: break;
  }
}

}  // namespace ob::fuzz
