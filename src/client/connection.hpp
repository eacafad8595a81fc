#pragma once
// One connection to a daemon: handshake, numbered commands out, replies in. Driven by the thread
// that uses it: whenever it must wait it receives, so full duplex needs no second thread.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/digest.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "session/message_receiver.hpp"
#include "session/message_sender.hpp"
#include "transport/striped_stream.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// How long a silent daemon is believed in.
struct Patience {
  int connect_ms = 2000;     ///< connecting and handshake
  int ping_after_ms = 1000;  ///< silence after which a waiting client asks "are you there?"
  int dead_after_ms = 4500;  ///< silence after which the daemon counts as dead
};

/// How to connect.
struct ConnectionConfig {
  Patience patience;
  /// What the connection is striped over, if the daemon grants so many and they can be had; else
  /// fewer, or one. Shared memory is never striped, nor is what is encrypted.
  unsigned streams = 1;
  std::shared_ptr<const transport::Security> security;  ///< nullptr: nobody proves anything
  std::uint32_t device = UINT32_MAX;                    ///< index of the daemon's; or any
};

/// Threads: one at a time. After an error of code connection_lost, protocol_error or
/// deadline_exceeded the connection is of no further use.
class Connection final : private session::SendWaiter {
 public:
  /// Errors: unavailable (nobody there), version_mismatch (names both), denied, protocol_error,
  /// deadline_exceeded.
  static Result<std::unique_ptr<Connection>> open(const std::string& address,
                                                  const ConnectionConfig& config);
  ~Connection() override;

  const wire::Welcome& welcome() const noexcept { return welcome_; }
  const std::string& address() const noexcept { return address_; }
  transport::Stream& stream() noexcept { return *stream_; }

  /// Sends a command with `message` as body; returns its sequence. Commands of a queue wait for
  /// credits.
  template <class Message>
  Result<std::uint64_t> command(wire::Opcode opcode, QueueId queue, const Message& message) {
    wire::Body body;
    wire::encode(message, body);
    return command(opcode, queue, body.bytes());
  }
  Result<std::uint64_t> command(wire::Opcode opcode, QueueId queue,
                                std::span<const std::byte> body);
  Result<std::uint64_t> write(QueueId queue, const wire::Write& message, const Layout& source);
  /// Sends a read of the buffer's region; its answer lands in `destination`.
  Result<std::uint64_t> read(QueueId queue, const wire::Read& message, const Layout& destination);
  /// Sends the command at once, so that the daemon works on it meanwhile; the answer lands in
  /// `digests`.   Errors: unsupported between byte orders
  Result<std::uint64_t> digest(QueueId queue, const wire::Digest& message,
                               std::span<Digest> digests);
  std::uint64_t next_sequence() const noexcept { return sequence_ + 1; }

  Status flush() { return sender_.flush(); }

  /// Flushes and waits for the reply of opcode `reply` to command `sequence`.
  /// Errors: those of the stream; deadline_exceeded if the daemon fell silent.
  Result<wire::Outcome> wait_done(std::uint64_t sequence);
  Result<wire::Location> wait_location(std::uint64_t sequence);
  Result<wire::Mailbox> wait_inbox(std::uint64_t sequence);
  Result<wire::Outcome> wait_peer(std::uint64_t sequence);
  /// Waits for the answer to a receive, or until `give_up`, asked about every second, is true.
  /// Errors: unavailable if given up
  Result<wire::Outcome> wait_received(std::uint64_t sequence, const std::function<bool()>& give_up);
  /// Round trip of a ping [ns].
  Result<std::uint64_t> ping();

 private:
  struct ExpectedData {
    std::uint64_t sequence;
    QueueId queue;
    Layout destination;
    std::uint32_t swapped_word_bytes;  // 1: lands as it is
  };

  Connection(std::unique_ptr<transport::Stream> stream, std::string address,
             const Patience& patience);
  Status shake_hands(std::uint8_t extra_streams, std::uint32_t device);
  Status take_welcome(const session::Message& message);
  /// Waits for the next message of a handshake.
  Result<session::Message> next_of_handshake(transport::Deadline deadline);
  Status add_streams(std::uint8_t asked_for, transport::Deadline deadline);
  Status wait_to_send() override;
  Status wait_for_bytes(bool want_send);
  /// Handles everything that has arrived; true if anything had.
  Result<bool> receive();
  Status handle(const session::Message& message);
  Status handle_data(const session::Message& message);
  Status check_words(const Region& region) const;
  Status take_credit(QueueId queue);
  /// Receives until `arrived` says so.
  template <class Predicate>
  Status receive_until(Predicate arrived);
  void note_credits(QueueId queue, std::uint32_t credits);

  const std::unique_ptr<transport::StripedStream> stream_;
  std::string address_;
  Patience patience_;
  session::MessageReceiver receiver_;
  session::MessageSender sender_;
  wire::Welcome welcome_;
  bool other_byte_order_ = false;  // the daemon's element data
  std::uint64_t sequence_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> used_credits_;  // by queue
  std::deque<ExpectedData> expected_;
  std::optional<Layout::Cursor> landing_;  // of the payload that is arriving
  Layout landing_layout_;                  // what landing_ walks
  std::uint32_t landing_word_bytes_ = 1;
  // The first failure of each queue's reads since its last done, which says it then: a read may
  // fail alone, on its way here.
  std::unordered_map<std::uint64_t, std::pair<Status, std::uint64_t>> read_failures_;
  // Last reply of each sort; a connection waits for one at a time.
  std::uint64_t done_sequence_ = 0;
  wire::Outcome done_;
  std::uint64_t location_sequence_ = 0;
  wire::Location location_;
  std::uint64_t inbox_sequence_ = 0;
  wire::Mailbox mailbox_;
  std::uint64_t peer_sequence_ = 0;
  wire::Outcome peer_;
  std::unordered_map<std::uint64_t, wire::Outcome> received_;  // not waited for yet
  // pings are numbered apart: they may be sent between two commands
  std::uint64_t ping_sequence_ = 0;
  std::uint64_t pong_sequence_ = 0;
  // when a sign of life was first asked for in vain
  std::optional<transport::Clock::time_point> asked_;
};

}  // namespace ob::client
