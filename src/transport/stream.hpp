#pragma once
// A connected pair of byte streams, one in each direction. Its operations do not block, except one
// wait for both directions: a sender that cannot continue can receive meanwhile. Otherwise two
// sides that both send would block each other forever.

#include <sys/uio.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace ob::transport {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

/// Shared memory that one side has passed to the other.
struct Segment {
  int fd = -1;  ///< owned by the holder of the Segment; -1: none
};

struct Descriptors {
  std::array<int, 16> numbers{};
  std::size_t count = 0;

  const int* begin() const noexcept { return numbers.data(); }
  const int* end() const noexcept { return numbers.data() + count; }
};

/// The largest number of parts that senders and receivers of messages pass to a stream.
inline constexpr std::size_t kMostParts = 128;

class Security;

/// Threads: one sender and one receiver at a time, which may be two threads; wait() by either
class Stream {
 public:
  virtual ~Stream() = default;

  /// Sends a prefix of `parts`; returns the bytes accepted, 0 if there is no room now.
  /// Errors: connection_lost if the peer is gone
  virtual Result<std::size_t> try_send(std::span<const iovec> parts) = 0;

  /// Receives into a prefix of `parts`; returns the bytes received, 0 if there are none now.
  /// Errors: connection_lost if the peer is gone, even if it closed gracefully: the protocol above
  ///         sends its own end
  virtual Result<std::size_t> try_receive(std::span<const iovec> parts) = 0;

  /// Blocks until one of the wanted directions may make progress, or the deadline passes. It may
  /// also return spuriously.
  /// Errors: deadline_exceeded; connection_lost (this detects a dead peer, over shared memory, too)
  virtual Status wait(bool want_receive, bool want_send, Deadline deadline) = 0;

  /// True if segments can be passed: both ends are on one machine.
  virtual bool shares_memory() const noexcept = 0;
  /// Passes a duplicate of `fd` to the peer, in order with other segments but not with bytes.
  /// Blocks briefly at most.   Errors: unsupported unless shares_memory()
  virtual Status send_segment(int fd) = 0;
  /// Receives the next segment from the peer; waits until the deadline.
  virtual Result<Segment> receive_segment(Deadline deadline) = 0;

  /// Makes both ends fail with connection_lost, and wakes waiting threads.   Threads: any
  virtual void shut_down() noexcept = 0;

  /// From now on, bytes that the peer's machine has not received when this side ends, in any way,
  /// are discarded; they would arrive later otherwise. Without effect on shared memory and ucx.
  /// Threads: the sender
  virtual void discard_unsent_at_end() noexcept {}

  /// Names the peer for messages: "10.0.0.3:7770", "unix:/run/outboard.sock (uid 1000)".
  virtual std::string peer() const = 0;
  /// Returns the proven identity of the peer, "uid 1000" or "certificate ada"; empty without proof.
  virtual std::string user() const { return {}; }
  /// Returns the right to kernels that the peer's certificate states: "portable", "native", or
  /// nothing.
  virtual std::string kernel_rights() const { return {}; }
  /// True if the peer has proven that it is a daemon of the pool, which opens no sessions.
  virtual bool from_daemon() const { return false; }
  /// True if the peer has been revoked since it proved its identity (security.hpp).   Threads: any
  virtual bool revoked() const { return false; }
  /// False if the program has closed our descriptor. Its number may belong to a file of the program
  /// by now, so that the stream must not be used, and does not close the number.
  virtual bool intact() const noexcept = 0;

  /// Returns a descriptor that polls readable when the peer dies or (tcp) has sent data; for tests
  /// and diagnostics.
  virtual int descriptor() const noexcept = 0;
  /// Lists every descriptor of the stream, so that a forked child can close them.
  virtual Descriptors descriptors() const noexcept { return {{descriptor()}, 1}; }

  /// True if bytes are known to have arrived that nobody has received yet. Does not block.
  /// Threads: any
  virtual bool has_unread() const noexcept { return false; }

  /// True if the peer has closed the connection or died, or if its machine does not answer. Bytes
  /// of it may still be unread. Does not block.   Threads: any
  virtual bool peer_is_gone() const noexcept { return false; }

  /// True if the stream ended because the peer closed it, with or without unread bytes, and not
  /// because of an error on the way.   Threads: the receiver
  virtual bool was_closed_by_peer() const noexcept { return false; }

  /// True if several such streams may be striped: descriptor() polls for bytes and for room.
  virtual bool can_be_striped() const noexcept { return false; }
};

/// Accepts connections on one address.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Waits until the deadline for one connection.
  /// Errors: deadline_exceeded; unavailable once closed
  virtual Result<std::unique_ptr<Stream>> accept(Deadline deadline) = 0;
  /// The first step of accept(): a stream that may be only the one below. A stream that
  /// can_be_striped() costs a descriptor and little else, and the client speaks first.
  /// Errors: those of accept()
  virtual Result<std::unique_ptr<Stream>> accept_bare(Deadline deadline) {
    return accept(deadline);
  }
  /// The second step of accept(): makes the stream that clients of this listener use.
  /// Errors: those of Security; out_of_memory   Threads: any
  virtual Result<std::unique_ptr<Stream>> open(std::unique_ptr<Stream> bare) { return bare; }
  /// Returns the bound address as clients write it: "127.0.0.1:40123", "unix:/tmp/x/outboard.sock",
  /// "ucx:127.0.0.1:40123".
  virtual std::string address() const = 0;
  /// Makes accept() return unavailable.   Threads: any
  virtual void close() noexcept = 0;
};

/// Connects to "HOST:PORT", "[::1]:PORT" (tcp), "unix:PATH" (shared memory) or "ucx:HOST:PORT"
/// (UCX, set up over tcp). The form of the address chooses the transport.
/// @param security the proof that both sides demand, or nullptr for none; Unix sockets need none,
/// because the kernel names the peer
/// Errors: invalid_argument for a malformed address (the message shows the expected form);
///         unavailable if nobody answers; unsupported for ucx without UCX, or with encryption;
///         those of Security
Result<std::unique_ptr<Stream>> connect(const std::string& address, Deadline deadline,
                                        const Security* security = nullptr);

/// Connects to a program that does not speak Outboard's protocol, such as a pool's manager: to
/// "HOST:PORT" or "[::1]:PORT" over TCP, or to "unix:PATH", a Unix socket of type SOCK_STREAM.
/// Errors: invalid_argument for a malformed address; unavailable if nobody answers; denied
Result<std::unique_ptr<Stream>> connect_plainly(const std::string& address, Deadline deadline);

/// Listens on an address of the same forms; port 0 picks a free port. A stale socket file is
/// replaced; the file of a live listener is an error. "fd:N" is a Unix socket of type
/// SOCK_SEQPACKET that listens already, the descriptor N that the process has inherited.
/// Errors: invalid_argument; unavailable if the address is taken; denied if permissions forbid it
Result<std::unique_ptr<Listener>> listen(const std::string& address,
                                         std::shared_ptr<const Security> security = nullptr);

}  // namespace ob::transport
