#include "fuzz/phrases.hpp"

#include <map>
#include <string_view>

#include "fuzz/failure.hpp"
#include "routines/codec.hpp"
#include "support/hex.hpp"
#include "wire/byte_swap.hpp"
#include "wire/samples.hpp"

namespace ob::fuzz {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr BufferId kFirst{1};
constexpr BufferId kSecond{2};
constexpr PlanId kPlan{1};
constexpr EventId kEvent{1};
constexpr PeerId kPeer{1};
constexpr PeerMessageId kParcel{1};
constexpr wire::Token kAnyTicket{kAnyToken, kAnyToken};

template <class Message>
Piece phrase(Opcode opcode, QueueId queue, const Message& message, std::size_t payload_bytes = 0) {
  wire::Body body;
  wire::encode(message, body);
  const Bytes payload(payload_bytes, std::byte{0x3F});
  return piece_of({.opcode = opcode, .queue = queue}, body.bytes(), payload);
}

Piece phrase(Opcode opcode, QueueId queue = {}) {
  return piece_of({.opcode = opcode, .queue = queue}, {});
}

wire::Hello hello() {
  wire::Hello hello;
  hello.big_endian = wire::kBigEndian;
  hello.client = "fuzz";
  return hello;
}

// As a connection's commands are; the first message is none.
void number(std::vector<Piece>& said) {
  for (std::size_t i = 1; i < said.size(); ++i) said[i].set_number(kSequenceAt, std::uint64_t{i});
}

Region columns(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, Triangle triangle) {
  return {.element_bytes = 8,
          .triangle = triangle,
          .rows = rows,
          .cols = cols,
          .ld = ld,
          .word_bytes = 8};
}

// Dimensions of 4, flags that mean something in most routines, operands in buffers 1 and 2.
Piece call(std::string_view name) {
  const Descriptor* routine = routines::find(name);
  expect(routine != nullptr, "the table has the routine");
  Argument arguments[kMaxArguments];
  for (std::size_t i = 0; i < routine->kinds.size(); ++i) {
    switch (routine->kinds[i]) {
      case Kind::flag: arguments[i].flag = routine->values[i].front(); break;
      case Kind::dim: arguments[i].dim = 4; break;
      case Kind::scalar:
      case Kind::real_scalar: arguments[i].scalar = {2, 0}; break;
      case Kind::matrix: arguments[i].device = {i % 2 == 0 ? kFirst : kSecond, 256 * i, 4}; break;
      case Kind::strided: arguments[i].device = {i % 2 == 0 ? kFirst : kSecond, 256 * i, 1}; break;
      default: arguments[i].device = {kSecond, 256 * i, 0}; break;
    }
  }
  wire::Body body;
  encode_call(*routine, arguments, body);
  return piece_of({.opcode = Opcode::call, .queue = kQueue}, body.bytes());
}

Piece make_plan() {
  FftPlan plan;
  plan.in_place = false;
  plan.rank = 2;
  plan.n = {4, 6};
  wire::Body body;
  encode_plan(kPlan, plan, body);
  return piece_of({.opcode = Opcode::make_plan, .queue = {}}, body.bytes());
}

}  // namespace

std::vector<Piece> client_session() {
  const Region full = columns(8, 4, 8, Triangle::full);
  const Region gaps = columns(5, 3, 7, Triangle::upper);
  std::vector<Piece> said{
      phrase(Opcode::hello, {}, hello()),
      phrase(Opcode::create_queue, kQueue),
      phrase(Opcode::set_accuracy, kQueue, wire::SetAccuracy{Accuracy::fast}),
      phrase(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      phrase(Opcode::allocate, {}, wire::Allocate{kSecond, 65536}),
      phrase(Opcode::write, kQueue, wire::Write{kFirst, full}, packed_bytes(full)),
      phrase(Opcode::write, kQueue, wire::Write{kSecond, gaps}, packed_bytes(gaps)),
      call("dgemm"),
      call("dgesv"),
      call("idamax"),
      phrase(Opcode::copy, kQueue, wire::Copy{kFirst, kSecond, full, full}),
      phrase(Opcode::read, kQueue, wire::Read{kSecond, gaps}),
      phrase(Opcode::digest, kQueue, wire::Digest{kFirst, full, 64}),
      make_plan(),
      phrase(Opcode::execute_plan, kQueue, wire::ExecutePlan{kPlan, kFirst, kSecond, 0, 0}),
      phrase(Opcode::record, kQueue, wire::Record{kEvent}),
      phrase(Opcode::wait, kQueue, wire::Wait{kEvent}),
      phrase(Opcode::open_mailbox),
      phrase(Opcode::connect_peer, {}, wire::ConnectPeer{kPeer, kAnyTicket, "127.0.0.1:1"}),
      phrase(Opcode::receive, kQueue, wire::Receive{kParcel, kSecond, gaps, {}}),
      phrase(Opcode::send, kQueue, wire::Send{kPeer, kParcel, kFirst, gaps}),
      phrase(Opcode::disconnect_peer, {}, wire::DisconnectPeer{kPeer}),
      phrase(Opcode::close_mailbox),
      phrase(Opcode::ping),
      phrase(Opcode::locate, {}, wire::Locate{kFirst}),
      phrase(Opcode::synchronize, kQueue),
      phrase(Opcode::destroy_plan, {}, wire::DestroyPlan{kPlan}),
      phrase(Opcode::free, {}, wire::Free{kFirst}),
      phrase(Opcode::destroy_queue, kQueue),
      phrase(Opcode::goodbye),
  };
  number(said);
  return said;
}

std::vector<Piece> peer_sessions() {
  const Region gaps = columns(5, 3, 7, Triangle::upper);
  const Region line = columns(500, 1, 500, Triangle::full);
  std::vector<Piece> receiver{
      phrase(Opcode::hello, {}, hello()),
      phrase(Opcode::create_queue, kQueue),
      phrase(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      phrase(Opcode::open_mailbox),
      phrase(Opcode::receive, kQueue, wire::Receive{{1}, kFirst, gaps, {}}),
      phrase(Opcode::receive, kQueue, wire::Receive{{2}, kFirst, line, {}}),
      phrase(Opcode::receive, kQueue, wire::Receive{{3}, kFirst, gaps, {}}),
      phrase(Opcode::synchronize, kQueue),
  };
  std::vector<Piece> sender{
      phrase(Opcode::hello, {}, hello()),
      phrase(Opcode::create_queue, kQueue),
      phrase(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      phrase(Opcode::connect_peer, {}, wire::ConnectPeer{kPeer, kAnyTicket, "127.0.0.1:1"}),
      phrase(Opcode::send, kQueue, wire::Send{kPeer, {1}, kFirst, gaps}),
      phrase(Opcode::synchronize, kQueue),
      phrase(Opcode::disconnect_peer, {}, wire::DisconnectPeer{kPeer}),
      phrase(Opcode::goodbye),
  };
  number(receiver);
  number(sender);
  Region packed = gaps;
  packed.ld = packed.rows;
  const std::vector<Piece> daemon{
      joining_daemon(),
      phrase(Opcode::peer_message, {}, wire::PeerMessage{{2}, line}, packed_bytes(line)),
      phrase(Opcode::peer_message, {}, wire::PeerMessage{{3}, packed}, packed_bytes(packed)),
      phrase(Opcode::goodbye),
  };
  std::vector<Piece> all = std::move(receiver);
  all.insert(all.end(), sender.begin(), sender.end());
  all.insert(all.end(), daemon.begin(), daemon.end());
  return all;
}

Piece joining_daemon() {
  wire::JoinPeer join;
  join.big_endian = wire::kBigEndian;
  join.access_key = kAnyTicket;
  return phrase(Opcode::join_peer, {}, join);
}

Piece joining_hello() {
  wire::Hello join = hello();
  join.join = {kAnyToken, kAnyToken};
  return phrase(Opcode::hello, {}, join);
}

std::vector<Piece> daemon_phrases() {
  wire::Welcome welcome;
  welcome.big_endian = wire::kBigEndian;
  welcome.host_visible = 1;
  welcome.token = {1, 2};
  welcome.devices = 1;
  welcome.memory_bytes = 1 << 20;
  welcome.backend = "null";
  wire::Outcome failure;
  failure.code = Code::out_of_memory;
  failure.failed_sequence = 1;
  failure.message = "no";
  wire::Outcome busy;
  busy.code = Code::busy;
  busy.failed_sequence = 1;
  busy.waited_ns = 1000;
  std::vector<Piece> said{
      phrase(Opcode::welcome, {}, welcome),
      phrase(Opcode::refused, {}, wire::Refused{Code::denied, wire::kVersion, "no"}),
      phrase(Opcode::location, {}, wire::Location{Code::ok, 0, 65536}),
      phrase(Opcode::data, kQueue, wire::Outcome{}, 64),
      phrase(Opcode::data, kQueue, failure),
      phrase(Opcode::done, kQueue, wire::Outcome{}),
      phrase(Opcode::done, kQueue, failure),
      phrase(Opcode::done, kQueue, busy),
      phrase(Opcode::credit, kQueue, wire::Credit{1}),
      phrase(Opcode::pong),
      phrase(Opcode::mailbox, {}, wire::Mailbox{Code::ok, {3, 4}}),
      phrase(Opcode::mailbox, {}, wire::Mailbox{Code::denied, {}}),
      phrase(Opcode::peer, {}, wire::Outcome{}),
      phrase(Opcode::peer, {}, failure),
      phrase(Opcode::received, kQueue, wire::Outcome{}),
      phrase(Opcode::received, kQueue, failure),
      phrase(Opcode::failed, {}, failure),
  };
  for (Piece& piece : said) piece.set_number(kSequenceAt, std::uint64_t{1});
  return said;
}

std::vector<Piece> golden_messages() {
  static const std::map<std::string_view, Opcode> opcodes{
      {"hello", Opcode::hello},
      {"allocate", Opcode::allocate},
      {"free", Opcode::free},
      {"locate", Opcode::locate},
      {"write", Opcode::write},
      {"read", Opcode::read},
      {"copy", Opcode::copy},
      {"digest", Opcode::digest},
      {"record", Opcode::record},
      {"destroy_plan", Opcode::destroy_plan},
      {"wait", Opcode::wait},
      {"execute_plan", Opcode::execute_plan},
      {"welcome", Opcode::welcome},
      {"refused", Opcode::refused},
      {"location", Opcode::location},
      {"outcome", Opcode::data},
      {"credit", Opcode::credit},
      {"mailbox", Opcode::mailbox},
      {"connect_peer", Opcode::connect_peer},
      {"disconnect_peer", Opcode::disconnect_peer},
      {"send", Opcode::send},
      {"receive", Opcode::receive},
      {"join_peer", Opcode::join_peer},
      {"peer_message", Opcode::peer_message},
  };
  std::vector<Piece> golden;
  test::for_each_sample([&](std::string_view name, const auto&, std::string_view hex) {
    const auto opcode = opcodes.find(name);
    if (opcode == opcodes.end()) return;
    golden.push_back(
        piece_of({.opcode = opcode->second, .queue = kQueue, .sequence = 1}, test::from_hex(hex)));
  });
  return golden;
}

}  // namespace ob::fuzz
