#pragma once
// The opcodes of the data plane (docs/wire.md, section 4) and the facts about each of them. This
// table is the only place that lists opcodes: headers are checked, credits counted and commands
// dispatched by it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ob::wire {

enum class Direction : std::uint8_t { client_to_daemon, daemon_to_daemon, daemon_to_client };

/// The meaning of the queue in a header.
enum class QueueUse : std::uint8_t {
  none,      ///< no queue: 0
  named,     ///< the message is about the queue, and uses no credit
  ignored,   ///< the message is about an object; no queue executes it, and its queue is not read
  executes,  ///< the queue executes the command in order, and the command uses one of its credits
};

/// The parts of a message that follow its header.
enum class Contents : std::uint8_t { nothing, body, body_and_payload };

/// The part of a stream's life in which a message may travel.
enum class Phase : std::uint8_t {
  opening,  ///< the first message of a stream
  answer,   ///< the daemon's part of the handshake
  running,  ///< after the handshake
};

// X(name, number, direction, queue, contents, phase, reply). The reply of a message that has none
// is `none`; any opening may be answered by `refused` instead of its reply.
#define OB_WIRE_OPCODES(X)                                                                 \
  X(hello, 1, client_to_daemon, none, body, opening, welcome)                              \
  X(create_queue, 2, client_to_daemon, named, nothing, running, none)                      \
  X(destroy_queue, 3, client_to_daemon, named, nothing, running, none)                     \
  X(allocate, 4, client_to_daemon, ignored, body, running, none)                           \
  X(free, 5, client_to_daemon, ignored, body, running, none)                               \
  /* asks where a buffer lies in shared memory */                                          \
  X(locate, 6, client_to_daemon, ignored, body, running, location)                         \
  /* payload: the elements of the region */                                                \
  X(write, 7, client_to_daemon, executes, body_and_payload, running, none)                 \
  X(read, 8, client_to_daemon, executes, body, running, data)                              \
  X(copy, 9, client_to_daemon, executes, body, running, none)                              \
  X(call, 10, client_to_daemon, executes, body, running, none)                             \
  X(make_plan, 11, client_to_daemon, ignored, body, running, none)                         \
  X(destroy_plan, 12, client_to_daemon, ignored, body, running, none)                      \
  X(execute_plan, 13, client_to_daemon, executes, body, running, none)                     \
  X(record, 14, client_to_daemon, executes, body, running, none)                           \
  X(wait, 15, client_to_daemon, executes, body, running, none)                             \
  X(synchronize, 16, client_to_daemon, executes, nothing, running, done)                   \
  /* answered ahead of any queue */                                                        \
  X(ping, 17, client_to_daemon, none, nothing, running, pong)                              \
  X(goodbye, 18, client_to_daemon, none, nothing, running, none)                           \
  X(digest, 19, client_to_daemon, executes, body, running, data)                           \
  /* opens a further stream of a connection */                                             \
  X(join_stream, 20, client_to_daemon, none, body, opening, joined)                        \
  X(set_accuracy, 21, client_to_daemon, named, body, running, none)                        \
  /* lets other devices deliver to this session */                                         \
  X(open_mailbox, 22, client_to_daemon, none, nothing, running, mailbox)                   \
  X(close_mailbox, 23, client_to_daemon, none, nothing, running, none)                     \
  /* connects to the mailbox of another session */                                         \
  X(connect_peer, 24, client_to_daemon, none, body, running, peer)                         \
  X(disconnect_peer, 25, client_to_daemon, none, body, running, none)                      \
  /* sends a region to a peer */                                                           \
  X(send, 26, client_to_daemon, executes, body, running, none)                             \
  /* receives a region from a peer; the reply comes when the region has arrived */         \
  X(receive, 27, client_to_daemon, executes, body, running, received)                      \
  /* opens a stream to the mailbox of a session */                                         \
  X(join_peer, 28, daemon_to_daemon, none, body, opening, joined)                          \
  /* payload: the region that was sent */                                                  \
  X(peer_message, 29, daemon_to_daemon, none, body_and_payload, running, none)             \
  X(fill, 30, client_to_daemon, executes, body, running, none)                             \
  /* asks how far the queue is, and clears nothing */                                      \
  X(mark, 31, client_to_daemon, executes, nothing, running, reached)                       \
  /* payload: the options and texts of a module of kernels */                              \
  X(load_module, 32, client_to_daemon, ignored, body_and_payload, running, module)         \
  X(unload_module, 33, client_to_daemon, ignored, body, running, none)                     \
  X(launch, 34, client_to_daemon, executes, body, running, none)                           \
  /* records an event when the last message of the queue has arrived, or is sent */        \
  X(record_transfer, 35, client_to_daemon, executes, body, running, none)                  \
  /* holds the queue until the client releases it */                                       \
  X(hold, 36, client_to_daemon, executes, body, running, none)                             \
  X(release, 37, client_to_daemon, ignored, body, running, none)                           \
  /* lets other sessions use a range of a buffer */                                        \
  X(create_grant, 38, client_to_daemon, ignored, body, running, granted)                   \
  X(revoke_grant, 39, client_to_daemon, ignored, body, running, none)                      \
  /* holds the queue until so many puts have landed */                                     \
  X(await_grant, 40, client_to_daemon, executes, body, running, none)                      \
  /* copies to or from the range of a grant; the queue waits */                            \
  X(put, 41, client_to_daemon, executes, body, running, none)                              \
  X(get, 42, client_to_daemon, executes, body, running, none)                              \
  /* payload: the bytes of the range; answered by stored */                                \
  X(store, 43, daemon_to_daemon, none, body_and_payload, running, none)                    \
  /* answered by fetched */                                                                \
  X(fetch, 44, daemon_to_daemon, none, body, running, none)                                \
  X(welcome, 64, daemon_to_client, none, body, answer, none)                               \
  X(refused, 65, daemon_to_client, none, body, answer, none)                               \
  X(location, 66, daemon_to_client, ignored, body, running, none)                          \
  /* payload: the elements or digests asked for; empty if the status is not ok */          \
  X(data, 67, daemon_to_client, named, body_and_payload, running, none)                    \
  X(done, 68, daemon_to_client, named, body, running, none)                                \
  X(credit, 69, daemon_to_client, named, body, running, none)                              \
  X(pong, 70, daemon_to_client, none, nothing, running, none)                              \
  /* the connection cannot go on (protocol error): the last message before it is closed */ \
  X(failed, 71, daemon_to_client, none, body, running, none)                               \
  /* follows welcome if hello asked for further streams */                                 \
  X(stripes, 72, daemon_to_client, none, body, answer, none)                               \
  X(joined, 73, daemon_to_client, none, nothing, answer, none)                             \
  X(mailbox, 74, daemon_to_client, none, body, running, none)                              \
  X(peer, 75, daemon_to_client, none, body, running, none)                                 \
  X(received, 76, daemon_to_client, named, body, running, none)                            \
  /* follows welcome in version 7 and later */                                             \
  X(facts, 77, daemon_to_client, none, body, answer, none)                                 \
  X(reached, 78, daemon_to_client, named, body, running, none)                             \
  /* payload: the compiler's words, and the kernels */                                     \
  X(module, 79, daemon_to_client, ignored, body_and_payload, running, none)                \
  /* follows facts if hello asks for it */                                                 \
  X(kernel_support, 80, daemon_to_client, none, body, answer, none)                        \
  X(granted, 81, daemon_to_client, ignored, body, running, none)                           \
  /* between daemons: the answers to store and fetch; signs of life are pongs */           \
  X(stored, 82, daemon_to_daemon, none, body, running, none)                               \
  X(fetched, 83, daemon_to_daemon, none, body_and_payload, running, none)

enum class Opcode : std::uint16_t {
  none = 0,  ///< no message has this number
#define OB_WIRE_ENUMERATOR(name, number, direction, queue, contents, phase, reply) name = number,
  OB_WIRE_OPCODES(OB_WIRE_ENUMERATOR)
#undef OB_WIRE_ENUMERATOR
};

struct OpcodeFacts {
  Opcode opcode = Opcode::none;
  std::string_view name = "unknown";
  Direction direction = Direction::client_to_daemon;
  QueueUse queue = QueueUse::none;
  Contents contents = Contents::nothing;
  Phase phase = Phase::running;
  Opcode reply = Opcode::none;

  constexpr bool known() const noexcept { return opcode != Opcode::none; }
  constexpr bool has_body() const noexcept { return contents != Contents::nothing; }
  constexpr bool has_payload() const noexcept { return contents == Contents::body_and_payload; }
  constexpr bool opens_stream() const noexcept { return phase == Phase::opening; }
  /// True if a client may send the message once its handshake is over.
  constexpr bool is_command() const noexcept {
    return known() && direction == Direction::client_to_daemon && phase == Phase::running;
  }
};

/// All opcodes, in the order of their numbers.
inline constexpr auto kOpcodes = std::to_array<OpcodeFacts>({
#define OB_WIRE_FACTS(name, number, direction, queue, contents, phase, reply) \
  {Opcode::name,       #name,        Direction::direction, QueueUse::queue,   \
   Contents::contents, Phase::phase, Opcode::reply},
    OB_WIRE_OPCODES(OB_WIRE_FACTS)
#undef OB_WIRE_FACTS
});
#undef OB_WIRE_OPCODES

namespace detail {

inline constexpr std::size_t kOpcodeNumbers = static_cast<std::size_t>(kOpcodes.back().opcode) + 1;

// One entry for every number up to the largest opcode, so that a look-up is one load.
inline constexpr auto kFactsByNumber = [] {
  std::array<OpcodeFacts, kOpcodeNumbers> facts{};
  for (const OpcodeFacts& each : kOpcodes) facts[static_cast<std::size_t>(each.opcode)] = each;
  return facts;
}();

constexpr bool opcodes_ascend() noexcept {
  for (std::size_t i = 1; i < kOpcodes.size(); ++i) {
    if (kOpcodes[i - 1].opcode >= kOpcodes[i].opcode) return false;
  }
  return true;
}
static_assert(opcodes_ascend(), "kOpcodes is sorted by number, and no number stands twice");

}  // namespace detail

/// The facts about an opcode; those of Opcode::none if the number is unknown.
constexpr const OpcodeFacts& facts_of(Opcode opcode) noexcept {
  const auto number = static_cast<std::size_t>(opcode);
  return detail::kFactsByNumber[number < detail::kOpcodeNumbers ? number : 0];
}

/// True for commands that a queue executes in order, bounded by its credits.
constexpr bool uses_credit(Opcode opcode) noexcept {
  return facts_of(opcode).queue == QueueUse::executes;
}

/// Returns the first version of the protocol, of those that a daemon serves, that has the message.
constexpr std::uint16_t first_version(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::fill:
    case Opcode::mark:
    case Opcode::facts:
    case Opcode::reached: return 7;
    case Opcode::load_module:
    case Opcode::unload_module:
    case Opcode::launch:
    case Opcode::module:
    case Opcode::kernel_support: return 8;
    case Opcode::record_transfer:
    case Opcode::hold:
    case Opcode::release:
    case Opcode::create_grant:
    case Opcode::revoke_grant:
    case Opcode::await_grant:
    case Opcode::put:
    case Opcode::get:
    case Opcode::store:
    case Opcode::fetch:
    case Opcode::granted:
    case Opcode::stored:
    case Opcode::fetched: return 8;
    default: return 6;
  }
}

/// The opcode's name in docs/wire.md; "unknown" if it has none.
constexpr std::string_view to_string(Opcode opcode) noexcept { return facts_of(opcode).name; }

}  // namespace ob::wire
