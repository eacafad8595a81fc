#pragma once
// The messages of the data-plane protocol, version kVersion. docs/wire.md is its
// specification; tests/wire holds golden bytes. Every multi-byte field is little-endian, every body
// a multiple of 8 bytes.
//
//   message = Header (32 bytes) | body (body_bytes) | payload (payload_bytes, packed elements)

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/accuracy.hpp"
#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/routine_rate.hpp"
#include "base/status.hpp"
#include "wire/opcode.hpp"

namespace ob::wire {

/// Begins the first message of a stream, so that a foreign program is recognised early.
inline constexpr std::uint32_t kMagic = 0x0B0A4D01;
inline constexpr std::uint16_t kVersion = 8;
/// Daemons serve clients of this version and of later ones. They answer in the client's version.
inline constexpr std::uint16_t kOldestVersion = 6;
/// True if this program knows the messages of the version.
/// The first version whose `hello` may carry a lease token, and that knows Code::fenced.
inline constexpr std::uint16_t kFirstLeaseVersion = 8;

constexpr bool is_known_version(std::uint16_t version) noexcept {
  return version >= kOldestVersion && version <= kVersion;
}
inline constexpr std::uint32_t kMaxBodyBytes = 4096;   ///< larger bodies are a protocol error
inline constexpr std::uint32_t kInitialCredits = 256;  ///< commands in flight per queue
/// Buffers up to this size may share a segment, and clients map only some of them (section 9).
inline constexpr std::uint64_t kSmallBufferBytes = 64 << 10;
inline constexpr std::uint64_t kMaxDigests = 1 << 16;  ///< chunks of one digest command

struct Header {
  Opcode opcode{};
  std::uint16_t flags = 0;  ///< reserved, 0
  std::uint32_t body_bytes = 0;
  QueueId queue;  ///< 0 for messages that belong to no queue
  /// commands: 1, 2, 3 ... per connection, hello 0; replies: the command answered
  std::uint64_t sequence = 0;
  std::uint64_t payload_bytes = 0;
};
inline constexpr std::size_t kHeaderBytes = 32;

/// Names a session to further connections. Tokens and access keys are unguessable.
using Token = std::array<std::uint64_t, 2>;

/// Flags of hello. A daemon refuses others.
inline constexpr std::uint32_t kHoldsUserData = 1;  ///< the session is not ended to make room
inline constexpr std::uint32_t kWantsKernels =
    2;  ///< the daemon sends kernel_support; from version 8 on
inline constexpr std::uint32_t kKnownHelloFlags = kHoldsUserData | kWantsKernels;

struct Hello {
  std::uint16_t version = kVersion;
  std::uint8_t big_endian = 0;  ///< byte order of this side's element data
  /// zero: open a new session; else join the session with this token
  Token join{};
  std::uint32_t device = UINT32_MAX;  ///< device index, or any
  std::string client;                 ///< program and pid, for the daemon's log; at most 255 bytes
  /// reserved for authentication; empty so far; at most 1024 bytes
  std::string identity;
  std::uint8_t extra_streams = 0;  ///< that the client asks for
  std::uint32_t flags = 0;         ///< from version 7 on; those of the session if this one opens it
};

struct Welcome {
  std::uint16_t version = kVersion;
  std::uint8_t big_endian = 0;
  std::uint8_t host_visible = 0;  ///< device buffers can be mapped by a client on the same machine
  Token token{};
  std::uint32_t device = 0;   ///< index of the device this session uses
  std::uint32_t devices = 0;  ///< devices of the daemon
  std::uint64_t memory_bytes = 0;
  double gflops_double = 0;  ///< measured dgemm rate, GFLOP/s; 0 if unknown
  /// bit i: mode i of Accuracy makes a difference on this device
  std::uint8_t accuracies = 0;
  std::string backend;      ///< "cpu", "null", ...
  std::string description;  ///< shown to people
  /// hash that names the daemon's machine until it boots again; 0: unknown
  std::uint64_t machine = 0;
  /// The processors of that machine on which the device computes, as the kernel lists them
  /// ("0-3,8"); empty if it has silicon of its own. At most 1024 bytes.
  std::string processors;
};

/// Properties of the session's device beyond those in welcome.
struct Facts {
  std::vector<RoutineRate> routine_rates;  ///< at most kMaxRoutineRates
};

struct Refused {
  Code code = Code::unavailable;
  std::uint16_t version = kVersion;  ///< the daemon's version
  std::string message;
};

/// The number of streams that the daemon grants. The connection itself is stream number 0.
struct Stripes {
  std::uint8_t extra_streams = 0;  ///< 0: not striped, and all other members are 0
  /// bytes that travel on one stream before the next stream follows
  std::uint32_t block_bytes = 0;
  Token access_key{};  ///< shown by the further streams; for this connection only
};

struct JoinStream {
  std::uint16_t version = kVersion;
  std::uint8_t index = 1;  ///< 1 to extra_streams
  Token access_key{};
  /// reserved for authentication; empty so far; at most 1024 bytes
  std::string identity;
};

/// Sets the accuracy of the calls and executions that follow on the queue.
struct SetAccuracy {
  Accuracy accuracy = Accuracy::standard;
};

struct Allocate {
  BufferId buffer;
  std::uint64_t bytes = 0;
};
struct Free {
  BufferId buffer;
};
struct Locate {
  BufferId buffer;
};
struct Write {
  BufferId buffer;
  Region region;
};
struct Read {
  BufferId buffer;
  Region region;
};
/// Answered with two words of 8 bytes for each of Chunks(region, chunk_bytes): ob::Digest.
struct Digest {
  BufferId buffer;
  Region region;
  std::uint64_t chunk_bytes = 0;
};
struct Copy {
  BufferId source;
  BufferId destination;
  Region from;
  Region to;
};
inline constexpr std::size_t kMaxFillBytes = 16;  ///< the largest element of a fill
/// Fills every element of a full region.
struct Fill {
  BufferId buffer;
  Region region;  ///< element_bytes is 1, 2, 4, 8 or 16
  /// The element, in the sender's byte order; zeros behind element_bytes.
  std::array<std::byte, kMaxFillBytes> element{};
};
inline constexpr std::size_t kMaxOptionBytes = 4096;  ///< options of a module
inline constexpr std::size_t kMaxVariants = 16;       ///< forms of a module
inline constexpr std::size_t kMaxKernelArguments = 64;
inline constexpr std::size_t kMaxLaunchWords = 200;  ///< values of a launch, in words of 8 bytes
inline constexpr std::uint32_t kMaxReportBytes = 4 << 20;  ///< payload of module

/// One form of a module. Its text is a part of the payload.
struct Variant {
  std::uint8_t kind = 1;  ///< a SourceKind; others are refused when the module is loaded
  std::uint64_t bytes = 0;
  std::string architecture;  ///< at most 63 bytes
};
/// The payload is the options, then the texts of the variants, one after another.
struct LoadModule {
  ModuleId module;  ///< its id from now on
  std::uint32_t option_bytes = 0;
  std::vector<Variant> variants;

  std::uint64_t payload_bytes() const noexcept {
    std::uint64_t bytes = option_bytes;
    for (const Variant& variant : variants) bytes += variant.bytes;  // check_load() bounds the sum
    return bytes;
  }
};
struct UnloadModule {
  ModuleId module;
};

enum class ArgumentKind : std::uint8_t { buffer = 1, scalar = 2, local = 3 };
/// An argument of a kernel. The members that its kind does not use are 0.
struct LaunchArgument {
  ArgumentKind kind = ArgumentKind::buffer;
  std::uint32_t bytes = 0;  ///< of a scalar or of local memory
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
  std::uint64_t extent_bytes = 0;  ///< that the kernel may use; 0: up to the end of the buffer
};
/// 8 bytes of the values of a launch.
struct LaunchWord {
  std::array<std::byte, 8> bytes{};
};
struct Launch {
  ModuleId module;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> group_size{1, 1, 1};
  std::string kernel;  ///< at most 255 bytes
  std::vector<LaunchArgument> arguments;
  /// The values of the scalars in order, each one in whole words that end with zeros.
  std::vector<LaunchWord> values;
};

/// The answer to load_module. The payload is the compiler's words, then the kernels
/// (device/kernels/report_codec.hpp).
struct ModuleAnswer {
  Code code = Code::ok;
  std::uint32_t kernels = 0;
  std::uint32_t log_bytes = 0;
  std::string message;  ///< at most 1024 bytes
};

/// Whether the session's device runs kernels of programs, and which.
struct KernelSupport {
  std::uint32_t kinds = 0;              ///< bit i: it takes variants of kind i; 0: it runs none
  std::uint32_t longest_kernel_ms = 0;  ///< a kernel that runs longer is ended; 0: no limit
  std::uint32_t flags = 0;              ///< kNoPeers
  std::string why;                      ///< why it runs none; at most 1024 bytes
};
/// A flag of KernelSupport: the daemon connects to no others.
inline constexpr std::uint32_t kNoPeers = 1;

struct DestroyPlan {
  PlanId plan;
};
struct ExecutePlan {
  PlanId plan;
  BufferId input;
  BufferId output;
  std::uint64_t input_offset_bytes = 0;
  std::uint64_t output_offset_bytes = 0;
};
struct Record {
  EventId event;
};
struct Wait {
  EventId event;
};

/// Holds the queue until `release` of the same gate, which may come first.
struct Hold {
  GateId gate;
};
struct Release {
  GateId gate;
  Code code = Code::ok;  ///< the outcome of the hold
};

inline constexpr std::uint32_t kMayRead = 1;
inline constexpr std::uint32_t kMayWrite = 2;
/// The longest life of a grant.
inline constexpr std::uint32_t kMaxGrantSeconds = 24 * 3600;

/// Lets other sessions use a range of a buffer. Answered by Granted.
struct CreateGrant {
  GrantId grant;  ///< its id from now on, also if it cannot be made
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t may = 0;      ///< kMayRead, kMayWrite or both
  std::uint32_t seconds = 0;  ///< its life from now on; 1 to kMaxGrantSeconds
  std::uint32_t uses = 0;     ///< puts and gets that it permits; 0: any number
  std::string user;           ///< the only one who may use it; empty: everybody with the secret
};
struct Granted {
  Code code = Code::ok;
  Token secret{};  ///< lets its holder use the grant
  std::string message;
};
struct RevokeGrant {
  GrantId grant;
};
/// Holds the queue until so many puts have landed.
struct AwaitGrant {
  GrantId grant;
  std::uint64_t landed = 0;
};
/// Put or get: copies between a buffer and the range of another session's grant. The queue waits.
struct GrantCopy {
  Token secret{};
  std::uint64_t grant_offset_bytes = 0;
  BufferId buffer;
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::string address;  ///< of the grant's daemon, as the client knows it; at most 255 bytes
};
/// Between daemons: a part of a grant's range, for `store` (with the bytes as payload) and `fetch`.
struct GrantRange {
  Token secret{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// The answer to open_mailbox.
struct Mailbox {
  Code code = Code::ok;
  Token access_key{};  ///< lets its holder send to the session
};
/// The reply is an Outcome with only code and message. So is the reply to receive.
struct ConnectPeer {
  PeerId peer;  ///< the peer's name from now on
  Token access_key{};
  std::string address;  ///< of the peer's daemon, as the client knows it; at most 255 bytes
};
struct DisconnectPeer {
  PeerId peer;
};
struct Send {
  PeerId peer;
  PeerMessageId peer_message;
  BufferId buffer;
  Region region;
};
struct Receive {
  PeerMessageId peer_message;
  BufferId buffer;
  Region region;
  PeerId next;  ///< the message is forwarded to this peer as it arrives; 0: to none
};

/// The first message from one daemon to another.
struct JoinPeer {
  std::uint16_t version = kVersion;
  std::uint8_t big_endian = 0;  ///< byte order of the sender's element data
  Token access_key{};
  /// reserved for authentication; empty so far; at most 1024 bytes
  std::string identity;
};
struct PeerMessage {
  PeerMessageId peer_message;
  Region region;  ///< the shape of the payload: offset 0, ld as if packed
};

/// The place of a buffer in a segment of shared memory. The descriptor of the segment travels
/// beside the message.
struct Location {
  Code code = Code::ok;
  std::uint64_t offset_bytes = 0;  ///< of the buffer inside the segment
  std::uint64_t segment_bytes = 0;
};

/// In data and done: the outcome of all commands of the queue so far. In failed: the reason for
/// which the connection ends. In peer and received only code and message count.
struct Outcome {
  Code code = Code::ok;
  std::uint32_t credits = 0;          ///< commands completed since the last grant
  std::uint64_t failed_sequence = 0;  ///< the command that failed
  /// device time of calls and plan executions since the last synchronize
  std::uint64_t compute_ns = 0;
  /// time executions waited for their plans since the last synchronize
  std::uint64_t plan_ns = 0;
  /// time calls and executions waited for their turn to compute since the last synchronize
  std::uint64_t waited_ns = 0;
  /// device memory that the session should hold between calls at most, now
  std::uint64_t keep_bytes = 0;
  std::string message;  ///< at most 1024 bytes
};

/// The answer to mark. The failure in it stays, and the times count on.
struct Reached {
  std::uint64_t clock_ns = 0;  ///< of the device, when the queue reached the mark; only differences
                               ///< between clocks of one device have a meaning
  Outcome outcome;
};

struct Credit {
  std::uint32_t credits = 0;
};

}  // namespace ob::wire
