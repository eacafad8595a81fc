#pragma once
// One connection to a daemon: its handshake, numbered commands, and the replies. The thread that
// uses it also receives whenever it waits, so full duplex needs no second thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "client/daemon_watch.hpp"
#include "client/data_arrivals.hpp"
#include "client/expected_data.hpp"
#include "client/expected_module.hpp"
#include "client/handshake.hpp"
#include "session/message_receiver.hpp"
#include "session/message_sender.hpp"
#include "transport/striped_stream.hpp"
#include "wire/codec.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// The settings of a connection.
struct ConnectionConfig {
  Timeouts timeouts;
  /// The number of streams of the connection, if the daemon grants this many and all of them can be
  /// opened; otherwise fewer, or one. Shared memory and encrypted connections are never striped.
  unsigned streams = 1;
  std::shared_ptr<const transport::Security> security;  ///< nullptr: no key, no TLS
  std::uint32_t device = UINT32_MAX;                    ///< index in the daemon; or any
  std::string identity{};  ///< a lease token, for daemons of a managed pool; empty: none
  wire::Token join{};      ///< of the session that the connection joins; zeros: a new session
  /// True: the daemon must not end the session to make room for others.
  bool holds_user_data = false;
  bool wants_kernels = false;         ///< asks what kernels of programs the device runs
  std::shared_ptr<HostSilence> host;  ///< shared by the connections to one host; or nullptr
};

/// Threads: one at a time. After an error of code connection_lost, protocol_error or
/// deadline_exceeded the connection is useless.
class Connection final : private session::SendWaiter {
 public:
  /// Errors: unavailable (nobody there), version_mismatch (names both), denied, protocol_error,
  /// deadline_exceeded.
  static Result<std::unique_ptr<Connection>> open(const std::string& address,
                                                  const ConnectionConfig& config);
  ~Connection() override;

  const wire::Welcome& welcome() const noexcept { return greeting_.welcome; }
  const wire::Facts& facts() const noexcept { return greeting_.facts; }
  /// Says what kernels the device runs; nothing was asked if its texts are empty.
  const wire::KernelSupport& kernels() const noexcept { return greeting_.kernels; }
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
  /// Sends a read of the buffer's region; the answer is received into `destination`.
  Result<std::uint64_t> read(QueueId queue, const wire::Read& message, const Layout& destination);
  Result<std::uint64_t> fill(QueueId queue, const wire::Fill& message);
  /// Sends the command at once, so that the daemon works on it meanwhile; the answer is received
  /// into `digests`.   Errors: unsupported between byte orders
  Result<std::uint64_t> digest(QueueId queue, const wire::Digest& message,
                               std::span<Digest> digests);
  /// @param payload that of module_payload()
  Result<std::uint64_t> load_module(const wire::LoadModule& message, const Layout& payload);
  /// Answers to load_module go to `listener`.
  void set_module_listener(ExpectedModule::Listener listener) {
    module_.set_listener(std::move(listener));
  }
  std::uint64_t next_sequence() const noexcept { return sequence_ + 1; }

  Status flush() { return sender_.flush(); }
  bool has_unsent() const noexcept { return sender_.has_unsent(); }
  /// True if the daemon owes answers to commands or pings.
  bool awaits_answers() const noexcept {
    return owed_ > 0 || expected_.receiving() || module_.receiving() ||
           pong_sequence_ < ping_sequence_;
  }

  /// Sends and receives as much as goes without waiting, for a thread that waits for nothing.
  /// Counts the silence of a daemon that owes answers, and asks a silent one for a sign of life.
  /// Returns the time of the next look.   Errors: as those of a wait
  Result<transport::Deadline> look();

  /// True if the daemon fell silent before the connection broke.
  bool is_unresponsive() const noexcept { return watch_.is_unresponsive(); }

  /// Flushes and waits for the reply of opcode `reply` to command `sequence`.
  /// Errors: those of the stream; deadline_exceeded if the daemon fell silent.
  Result<wire::Outcome> wait_done(std::uint64_t sequence);
  /// The same, but returns nothing if the deadline passes first; a later wait goes on.
  Result<std::optional<wire::Outcome>> wait_done(std::uint64_t sequence,
                                                 transport::Deadline deadline);
  Result<wire::Reached> wait_reached(std::uint64_t sequence);
  /// Flushes and waits until the data that commands up to this sequence ask for have arrived.
  Status wait_data(std::uint64_t sequence);
  const std::shared_ptr<DataArrivals>& arrivals() const noexcept { return arrivals_; }
  /// From now on, answers to marks go to `listener` and not to wait_reached().
  using MarkListener = std::function<void(std::uint64_t sequence, const wire::Reached&)>;
  void set_mark_listener(MarkListener listener) { mark_listener_ = std::move(listener); }
  Result<wire::Location> wait_location(std::uint64_t sequence);
  Result<wire::Mailbox> wait_mailbox(std::uint64_t sequence);
  Result<wire::Granted> wait_granted(std::uint64_t sequence);
  Result<wire::Outcome> wait_peer(std::uint64_t sequence);
  /// From now on, answers to receives go to `listener` and not to wait_received().
  using ReceivedListener = std::function<void(const wire::Outcome&)>;
  void set_received_listener(ReceivedListener listener) {
    received_listener_ = std::move(listener);
  }
  /// Waits for the answer to a receive. `give_up` is called several times a second; true ends the
  /// wait.
  /// Errors: unavailable if `give_up` ended the wait
  Result<wire::Outcome> wait_received(std::uint64_t sequence, const std::function<bool()>& give_up);
  /// Returns the round trip of a ping [ns].
  Result<std::uint64_t> ping();

 private:
  // The last reply of one kind; a connection waits for one at a time.
  template <class Message>
  struct Reply {
    std::uint64_t sequence = 0;
    Message message;
  };

  Connection(std::unique_ptr<transport::Stream> stream, std::string address,
             const ConnectionConfig& config);
  static Result<std::unique_ptr<Connection>> open_until(const std::string& address,
                                                        const ConnectionConfig& config,
                                                        transport::Deadline deadline);
  NewStream new_stream(transport::Deadline deadline);
  Status shake_hands(const NewStream& with, std::uint8_t extra_streams,
                     const ConnectionConfig& config);
  Status wait_to_send() override;
  Status wait_for_bytes(bool want_send, transport::Deadline deadline = transport::Deadline::max());
  /// Handles all messages that have arrived; returns true if there was any.
  Result<bool> receive();
  Status handle(const session::Message& message);
  Status handle_done(const session::Message& message);
  Status handle_reached(const session::Message& message);
  Status handle_received(const session::Message& message);
  bool is_done(std::uint64_t sequence) const noexcept;
  wire::Outcome take_done(std::uint64_t sequence);
  template <class Message>
  Status take_reply(const session::Message& message, Reply<Message>& reply);
  template <class Message>
  Result<Message> wait_for_reply(std::uint64_t sequence, const Reply<Message>& reply);
  Status check_words(const Region& region) const;
  Status take_credit(QueueId queue);
  /// Receives until `arrived` returns true.
  template <class Predicate>
  Status receive_until(Predicate arrived);
  /// The same; returns false if the deadline passes first.
  template <class Predicate>
  Result<bool> receive_before(Predicate arrived, transport::Deadline deadline);
  void note_credits(QueueId queue, std::uint32_t credits);
  Status queue_ping();
  transport::Deadline next_look(transport::Deadline now, bool all_sent) const;

  const std::unique_ptr<transport::StripedStream> stream_;
  std::string address_;
  session::MessageReceiver receiver_;
  session::MessageSender sender_;
  Greeting greeting_;
  bool other_byte_order_ = false;  // the byte order of the daemon's elements differs
  std::uint64_t sequence_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> used_credits_;  // by queue
  ExpectedData expected_;
  const std::shared_ptr<DataArrivals> arrivals_ = std::make_shared<DataArrivals>();
  ExpectedModule module_;
  std::vector<std::pair<std::uint64_t, wire::Outcome>> done_;  // by sequence; not waited for yet
  std::unordered_map<std::uint64_t, wire::Reached> reached_;   // not waited for yet
  Reply<wire::Location> location_;
  Reply<wire::Mailbox> mailbox_;
  Reply<wire::Granted> granted_;
  Reply<wire::Outcome> peer_;
  std::unordered_map<std::uint64_t, wire::Outcome> received_;  // not waited for yet
  // pings have their own numbers: they may be sent between two commands
  std::uint64_t ping_sequence_ = 0;
  std::uint64_t pong_sequence_ = 0;
  DaemonWatch watch_;
  MarkListener mark_listener_;
  ReceivedListener received_listener_;
  std::uint64_t owed_ = 0;  // answers to commands
  // Those of look().
  transport::Deadline heard_{};         // the time of the last message
  transport::Deadline due_{};           // the first look at the answers that are owed now
  transport::Deadline looked_{};        // the last look, if nothing was heard or waited for since
  transport::Deadline planned_look_{};  // the next one, as it was planned then
};

}  // namespace ob::client
