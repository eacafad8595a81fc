#include "fuzz/message_checker.hpp"

#include "fuzz/failure.hpp"
#include "routines/codec.hpp"
#include "wire/codec.hpp"
#include "wire/message_fields.hpp"

namespace ob::fuzz {
namespace {

using wire::Opcode;

template <class Message>
Message decoded(View body) {
  auto message = wire::decode<Message>(body);
  if (!message.ok()) fail(message.status().message().c_str());
  return std::move(message).value();
}

// Checks bodies that must be well-formed and have no further rules.
void check_body(Opcode opcode, View body) {
  if (opcode == Opcode::call) return expect(decode_call(body).ok(), "calls decode");
  if (opcode == Opcode::make_plan) return expect(decode_plan(body).ok(), "plans decode");
  wire::for_each_body([&]<class Message>() {
    if (wire::has_body<Message>(opcode)) (void)decoded<Message>(body);
  });
}

}  // namespace

void MessageChecker::check(View bytes) {
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
    check(*header, View(gathered_).subspan(wire::kHeaderBytes));
    payload_left_ = header->payload_bytes;
    gathered_.clear();
  }
}

void MessageChecker::check(const wire::Header& header, View body) {
  expect(!over_, "nothing follows the last message");
  const wire::OpcodeFacts& facts = wire::facts_of(header.opcode);
  expect(facts.direction != wire::Direction::daemon_to_daemon, "no message is for another daemon");
  const bool from_daemon = facts.direction == wire::Direction::daemon_to_client;
  expect(from_daemon == (side_ == Side::daemon), "each side has its own messages");
  check_body(header.opcode, body);
  from_daemon ? check_daemon(header, body) : check_client(header, body);
  ++messages_;
}

void MessageChecker::check_daemon(const wire::Header& header, View body) {
  switch (header.opcode) {
    case Opcode::welcome: {
      expect(messages_ == 0, "welcome is the first message");
      const auto welcome = decoded<wire::Welcome>(body);
      if (on_welcome) on_welcome(welcome.token);
      break;
    }
    case Opcode::refused: over_ = true; break;
    case Opcode::failed:
      expect(decoded<wire::Outcome>(body).code != Code::ok, "a failure has a reason");
      over_ = true;
      break;
    case Opcode::data: {
      const auto outcome = decoded<wire::Outcome>(body);
      expect(outcome.code == Code::ok || header.payload_bytes == 0, "failed reads have no data");
      break;
    }
    case Opcode::mailbox: {
      const auto mailbox = decoded<wire::Mailbox>(body);
      if (on_mailbox && mailbox.code == Code::ok) on_mailbox(mailbox.access_key);
      break;
    }
    default: break;
  }
  const bool in_handshake = wire::facts_of(header.opcode).phase == wire::Phase::answer;
  expect(messages_ > 0 || over_ || in_handshake, "the handshake comes first");
}

void MessageChecker::check_client(const wire::Header& header, View body) {
  expect((header.opcode == Opcode::hello) == (messages_ == 0), "hello is the first message");
  if (header.opcode != Opcode::hello && header.opcode != Opcode::ping)
    expect(header.sequence == ++sequence_, "commands are numbered 1, 2, 3 ...");
  if (header.opcode == Opcode::write) {
    expect(packed_bytes(decoded<wire::Write>(body).region) == header.payload_bytes,
           "the payload is as long as its region");
  }
  over_ = header.opcode == Opcode::goodbye;
}

}  // namespace ob::fuzz
