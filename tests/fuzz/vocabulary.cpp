#include "fuzz/vocabulary.hpp"

#include <string_view>

#include "fuzz/failure.hpp"
#include "routines/codec.hpp"
#include "support/hex.hpp"
#include "wire/byte_swap.hpp"
#include "wire/message_fields.hpp"
#include "wire/samples.hpp"

namespace ob::fuzz {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr BufferId kFirst{1};
constexpr BufferId kSecond{2};
constexpr PlanId kPlan{1};
constexpr ModuleId kModule{1};
constexpr EventId kEvent{1};
constexpr PeerId kPeer{1};
constexpr PeerMessageId kPeerMessage{1};
constexpr wire::Token kAnyAccessKey{kAnyToken, kAnyToken};

template <class Message>
RawMessage message(Opcode opcode, QueueId queue, const Message& message,
                   std::size_t payload_bytes = 0) {
  wire::Body body;
  wire::encode(message, body);
  const Bytes payload(payload_bytes, std::byte{0x3F});
  return raw_message({.opcode = opcode, .queue = queue}, body.bytes(), payload);
}

RawMessage message(Opcode opcode, QueueId queue = {}) {
  return raw_message({.opcode = opcode, .queue = queue}, {});
}

wire::Hello hello() {
  wire::Hello hello;
  hello.big_endian = wire::kBigEndian;
  hello.client = "fuzz";
  hello.flags = wire::kWantsKernels;
  return hello;
}

// Numbers the messages as the commands of a connection; the first message is not a command.
void number(std::vector<RawMessage>& said) {
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

// A call with dimensions of 4, flags that most routines accept, and operands in buffers 1 and 2.
RawMessage call(std::string_view name) {
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
  return raw_message({.opcode = Opcode::call, .queue = kQueue}, body.bytes());
}

RawMessage load_module() {
  const std::string_view text = "-D N=4__kernel void set(__global int* x, int v) { x[0] = v + N; }";
  wire::Body body;
  wire::encode(wire::LoadModule{kModule, 6, {{1, text.size() - 6, ""}}}, body);
  return raw_message({.opcode = Opcode::load_module, .queue = {}}, body.bytes(),
                     std::as_bytes(std::span(text)));
}

wire::Launch launch() {
  wire::Launch launch;
  launch.module = kModule;
  launch.kernel = "set";
  launch.arguments = {{wire::ArgumentKind::buffer, 0, kFirst, 0, 8},
                      {wire::ArgumentKind::scalar, 4, {}, 0, 0}};
  launch.values.resize(1);
  return launch;
}

RawMessage make_plan() {
  FftPlan plan;
  plan.in_place = false;
  plan.rank = 2;
  plan.n = {4, 6};
  wire::Body body;
  encode_plan(kPlan, plan, body);
  return raw_message({.opcode = Opcode::make_plan, .queue = {}}, body.bytes());
}

}  // namespace

std::vector<RawMessage> client_session() {
  const Region full = columns(8, 4, 8, Triangle::full);
  const Region gaps = columns(5, 3, 7, Triangle::upper);
  std::vector<RawMessage> said{
      message(Opcode::hello, {}, hello()),
      message(Opcode::create_queue, kQueue),
      message(Opcode::set_accuracy, kQueue, wire::SetAccuracy{Accuracy::fast}),
      message(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      message(Opcode::allocate, {}, wire::Allocate{kSecond, 65536}),
      message(Opcode::write, kQueue, wire::Write{kFirst, full}, packed_bytes(full)),
      message(Opcode::write, kQueue, wire::Write{kSecond, gaps}, packed_bytes(gaps)),
      call("dgemm"),
      call("dgesv"),
      call("idamax"),
      message(Opcode::copy, kQueue, wire::Copy{kFirst, kSecond, full, full}),
      message(Opcode::fill, kQueue,
              wire::Fill{kFirst, full, {std::byte{1}, std::byte{2}, std::byte{3}}}),
      load_module(),
      message(Opcode::launch, kQueue, launch()),
      message(Opcode::mark, kQueue),
      message(Opcode::read, kQueue, wire::Read{kSecond, gaps}),
      message(Opcode::digest, kQueue, wire::Digest{kFirst, full, 64}),
      make_plan(),
      message(Opcode::execute_plan, kQueue, wire::ExecutePlan{kPlan, kFirst, kSecond, 0, 0}),
      message(Opcode::record, kQueue, wire::Record{kEvent}),
      message(Opcode::wait, kQueue, wire::Wait{kEvent}),
      message(Opcode::open_mailbox),
      message(Opcode::connect_peer, {}, wire::ConnectPeer{kPeer, kAnyAccessKey, "127.0.0.1:1"}),
      message(Opcode::receive, kQueue, wire::Receive{kPeerMessage, kSecond, gaps, {}}),
      message(Opcode::send, kQueue, wire::Send{kPeer, kPeerMessage, kFirst, gaps}),
      message(Opcode::record_transfer, kQueue, wire::Record{kEvent}),
      message(Opcode::release, {}, wire::Release{GateId{9}, Code::unavailable}),
      message(Opcode::hold, kQueue, wire::Hold{GateId{9}}),
      message(Opcode::create_grant, {}, wire::CreateGrant{GrantId{3}, kFirst, 8, 64, 3, 60, 2, ""}),
      message(Opcode::put, kQueue,
              wire::GrantCopy{kAnyAccessKey, 0, kSecond, 0, 16, "127.0.0.1:1"}),
      message(Opcode::await_grant, kQueue, wire::AwaitGrant{GrantId{3}, 0}),
      message(Opcode::revoke_grant, {}, wire::RevokeGrant{GrantId{3}}),
      message(Opcode::disconnect_peer, {}, wire::DisconnectPeer{kPeer}),
      message(Opcode::close_mailbox),
      message(Opcode::ping),
      message(Opcode::locate, {}, wire::Locate{kFirst}),
      message(Opcode::synchronize, kQueue),
      message(Opcode::destroy_plan, {}, wire::DestroyPlan{kPlan}),
      message(Opcode::unload_module, {}, wire::UnloadModule{kModule}),
      message(Opcode::free, {}, wire::Free{kFirst}),
      message(Opcode::destroy_queue, kQueue),
      message(Opcode::goodbye),
  };
  number(said);
  return said;
}

std::vector<RawMessage> peer_sessions() {
  const Region gaps = columns(5, 3, 7, Triangle::upper);
  const Region line = columns(500, 1, 500, Triangle::full);
  std::vector<RawMessage> receiver{
      message(Opcode::hello, {}, hello()),
      message(Opcode::create_queue, kQueue),
      message(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      message(Opcode::open_mailbox),
      message(Opcode::receive, kQueue, wire::Receive{{1}, kFirst, gaps, {}}),
      message(Opcode::receive, kQueue, wire::Receive{{2}, kFirst, line, {}}),
      message(Opcode::receive, kQueue, wire::Receive{{3}, kFirst, gaps, {}}),
      message(Opcode::synchronize, kQueue),
  };
  std::vector<RawMessage> sender{
      message(Opcode::hello, {}, hello()),
      message(Opcode::create_queue, kQueue),
      message(Opcode::allocate, {}, wire::Allocate{kFirst, 4096}),
      message(Opcode::connect_peer, {}, wire::ConnectPeer{kPeer, kAnyAccessKey, "127.0.0.1:1"}),
      message(Opcode::send, kQueue, wire::Send{kPeer, {1}, kFirst, gaps}),
      message(Opcode::synchronize, kQueue),
      message(Opcode::disconnect_peer, {}, wire::DisconnectPeer{kPeer}),
      message(Opcode::goodbye),
  };
  number(receiver);
  number(sender);
  Region packed = gaps;
  packed.ld = packed.rows;
  const std::vector<RawMessage> daemon{
      joining_daemon(),
      message(Opcode::peer_message, {}, wire::PeerMessage{{2}, line}, packed_bytes(line)),
      message(Opcode::peer_message, {}, wire::PeerMessage{{3}, packed}, packed_bytes(packed)),
      message(Opcode::goodbye),
  };
  std::vector<RawMessage> all = std::move(receiver);
  all.insert(all.end(), sender.begin(), sender.end());
  all.insert(all.end(), daemon.begin(), daemon.end());
  return all;
}

RawMessage joining_daemon() {
  wire::JoinPeer join;
  join.big_endian = wire::kBigEndian;
  join.access_key = kAnyAccessKey;
  return message(Opcode::join_peer, {}, join);
}

RawMessage joining_hello() {
  wire::Hello join = hello();
  join.join = {kAnyToken, kAnyToken};
  return message(Opcode::hello, {}, join);
}

std::vector<RawMessage> daemon_messages() {
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
  std::vector<RawMessage> said{
      message(Opcode::welcome, {}, welcome),
      message(Opcode::facts, {}, wire::Facts{{{RateFamily::qr, 1e6, 1.5}}}),
      message(Opcode::kernel_support, {}, wire::KernelSupport{2, 60000, wire::kNoPeers, ""}),
      message(Opcode::refused, {}, wire::Refused{Code::denied, wire::kVersion, "no"}),
      message(Opcode::location, {}, wire::Location{Code::ok, 0, 65536}),
      message(Opcode::data, kQueue, wire::Outcome{}, 64),
      message(Opcode::data, kQueue, failure),
      message(Opcode::done, kQueue, wire::Outcome{}),
      message(Opcode::done, kQueue, failure),
      message(Opcode::done, kQueue, busy),
      message(Opcode::reached, kQueue, wire::Reached{7, wire::Outcome{}}),
      message(Opcode::reached, kQueue, wire::Reached{7, failure}),
      message(Opcode::credit, kQueue, wire::Credit{1}),
      message(Opcode::pong),
      message(Opcode::module, {}, wire::ModuleAnswer{Code::build_failed, 0, 64, "no"}, 64),
      message(Opcode::mailbox, {}, wire::Mailbox{Code::ok, {3, 4}}),
      message(Opcode::mailbox, {}, wire::Mailbox{Code::denied, {}}),
      message(Opcode::granted, {}, wire::Granted{Code::ok, {3, 4}, ""}),
      message(Opcode::granted, {}, wire::Granted{Code::denied, {}, "no"}),
      message(Opcode::peer, {}, wire::Outcome{}),
      message(Opcode::peer, {}, failure),
      message(Opcode::received, kQueue, wire::Outcome{}),
      message(Opcode::received, kQueue, failure),
      message(Opcode::failed, {}, failure),
  };
  for (RawMessage& piece : said) piece.set_number(kSequenceAt, std::uint64_t{1});
  return said;
}

std::vector<RawMessage> golden_messages() {
  std::vector<RawMessage> golden;
  test::for_each_sample([&]<class Message>(std::string_view, const Message&, std::string_view hex) {
    const Opcode opcode = wire::kFields<Message>.opcodes[0];
    golden.push_back(
        raw_message({.opcode = opcode, .queue = kQueue, .sequence = 1}, test::from_hex(hex)));
  });
  return golden;
}

}  // namespace ob::fuzz
