#pragma once
// A connected pair of byte streams, one each way. Non-blocking primitives plus one wait, so that a
// sender who is held up can receive meanwhile (two sides that only send would block each other for
// ever).

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

/// Shared memory that one side gave to the other.
struct Segment {
  int fd = -1;  ///< owned by whoever holds the Segment; -1 none
};

struct Descriptors {
  std::array<int, 16> numbers{};
  std::size_t count = 0;

  const int* begin() const noexcept { return numbers.data(); }
  const int* end() const noexcept { return numbers.data() + count; }
};

class Security;

/// Threads: one sender and one receiver at a time (they may be two threads); wait() by either.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Sends a prefix of `parts`; returns bytes accepted, 0 if the peer is not taking any now.
  /// Errors: connection_lost if the peer is gone.
  virtual Result<std::size_t> try_send(std::span<const iovec> parts) = 0;

  /// Receives into a prefix of `parts`; returns bytes received, 0 if there are none now.
  /// Errors: connection_lost if the peer is gone (also at a clean end: the protocol says goodbye
  /// first).
  virtual Result<std::size_t> try_receive(std::span<const iovec> parts) = 0;

  /// Blocks until one of the wanted directions may make progress (spuriously, too), or the deadline
  /// passes.
  /// Errors: deadline_exceeded; connection_lost (the peer's death is noticed here, also over shared
  /// memory).
  virtual Status wait(bool want_receive, bool want_send, Deadline deadline) = 0;

  /// True if a receive may be given an address of a GPU's memory. No transport says so today: ucx
  /// could where UCX was built for the GPU, but ours lands in pooled host memory first.
  virtual bool lands_in_device_memory() const noexcept { return false; }

  /// True if segments can be passed: both ends are on one machine.
  virtual bool shares_memory() const noexcept = 0;
  /// Hands a duplicate of `fd` to the peer, in order with other segments (not with bytes).
  /// Errors: unsupported unless shares_memory(). Blocks briefly at most.
  virtual Status send_segment(int fd) = 0;
  /// Takes the next segment the peer sent; waits until the deadline.
  virtual Result<Segment> receive_segment(Deadline deadline) = 0;

  /// Makes both ends fail with connection_lost, waking whoever waits. Threads: any.
  virtual void shut_down() noexcept = 0;

  /// The peer, for messages: "10.0.0.3:7770", "unix:/run/outboard.sock (uid 1000)".
  virtual std::string peer() const = 0;
  /// Whom the peer has proven to act for, "uid 1000" or "certificate ada"; empty if nobody asked.
  virtual std::string user() const { return {}; }
  /// True if the peer has proven to be a daemon of the pool, which opens no sessions.
  virtual bool from_daemon() const { return false; }
  /// False if the program closed our descriptor behind our back: its number may be a file of the
  /// program's by now, so the stream must not be used any more and leaves the number alone.
  virtual bool intact() const noexcept = 0;

  /// File descriptor that polls readable when the peer dies or (tcp) has sent data; for tests and
  /// diagnostics.
  virtual int descriptor() const noexcept = 0;
  /// Every descriptor of the stream, for a forked child to close.
  virtual Descriptors descriptors() const noexcept { return {{descriptor()}, 1}; }

  /// True if several such streams may be striped: descriptor() polls for bytes and for room.
  virtual bool can_be_striped() const noexcept { return false; }
};

/// Accepts connections on one address.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Waits until the deadline for one connection. Errors: deadline_exceeded; unavailable once
  /// closed.
  virtual Result<std::unique_ptr<Stream>> accept(Deadline deadline) = 0;
  /// The bound address in the spelling clients use: "127.0.0.1:40123",
  /// "unix:/tmp/x/outboard.sock", "ucx:127.0.0.1:40123".
  virtual std::string address() const = 0;
  /// Makes accept() return unavailable. Threads: any.
  virtual void close() noexcept = 0;
};

/// Connects to "HOST:PORT", "[::1]:PORT" (tcp), "unix:PATH" (shared memory) or "ucx:HOST:PORT"
/// (UCX, set up over tcp). The spelling chooses the transport. Errors: invalid_argument for a
/// malformed address (says what is expected); unavailable if nobody answers; unsupported for ucx
/// where UCX is not there.
/// @param security what both sides prove to each other, except over Unix sockets, whose peers the
/// kernel names; nullptr: nothing   Errors: those of Security; unsupported for UCX unless in plain
Result<std::unique_ptr<Stream>> connect(const std::string& address, Deadline deadline,
                                        const Security* security = nullptr);

/// Listens on the same spellings; port 0 picks a free one. A stale socket file is replaced, a live
/// one refused.
/// Errors: invalid_argument; unavailable if the address is taken; denied if permissions forbid it.
Result<std::unique_ptr<Listener>> listen(const std::string& address,
                                         std::shared_ptr<const Security> security = nullptr);

}  // namespace ob::transport
