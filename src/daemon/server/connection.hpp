#pragma once
// One client connection: its I/O thread takes messages off the stream, checks them, and submits
// them to the session's queues; queues answer through the ReplyChannel.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/io/reply_channel.hpp"
#include "daemon/memory/staging.hpp"
#include "daemon/peers/mailbox.hpp"
#include "daemon/server/stripe_group.hpp"
#include "daemon/session/session.hpp"
#include "session/message_receiver.hpp"
#include "transport/striped_stream.hpp"

namespace ob::daemon {

/// Finds or makes the session a client asks for.
class SessionDirectory {
 public:
  virtual ~SessionDirectory() = default;
  /// Errors: denied for an unknown token; invalid_argument for a device that does not exist.
  /// @param user whom the client has proven to act for; empty: nobody
  virtual Result<std::shared_ptr<Session>> open(const wire::Hello& hello,
                                                const std::string& user) = 0;
  /// Ends other sessions of the same device that nobody has used for a while, the longest idle
  /// first, until they held so many bytes of its memory together; it is free soon after. Their
  /// clients make new ones when they need to.   @returns what they held [bytes]
  virtual std::uint64_t make_room(const Session& wanting, std::uint64_t bytes) = 0;
  virtual std::uint32_t device_count() const noexcept = 0;
  virtual StripeGroups& stripes() noexcept = 0;
  virtual Mailboxes& mailboxes() noexcept = 0;
  /// A stream to another daemon that a client names.
  /// Errors: denied or unsupported if this daemon does not go there; those of transport::connect()
  virtual Result<std::unique_ptr<transport::Stream>> connect_to(const std::string& address,
                                                                transport::Deadline deadline) = 0;
  /// How long a client may keep a connection without using it.
  virtual std::chrono::seconds longest_idle() const noexcept = 0;
};

/// One client's, or another daemon's that delivers to a session.
/// Threads: run() by its own thread; at_rest() and shut_down() by any.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::unique_ptr<transport::Stream> stream, SessionDirectory& directory);

  /// Serves the client until it leaves. The returned status says why, for the log; ok after
  /// goodbye.
  Status run();
  /// True if the client has sent nothing that is unanswered.
  bool at_rest() const;
  /// True if the client has left, or was told to: nobody waits for what the device still does.
  bool gone() const noexcept { return gone_; }
  /// Since when the client has said nothing; meaningful while at_rest().
  transport::Clock::time_point resting_since() const noexcept { return resting_since_.load(); }
  /// Names the session that the client is in; nullptr before and after it is. Not to be followed.
  const Session* session_name() const noexcept { return session_name_; }
  void shut_down() noexcept { stream_->shut_down(); }
  std::string peer() const { return stream_->peer(); }
  const std::string& client() const noexcept { return client_; }

 private:
  void explain(const Status& why);
  Status shake_hands();
  Status receive_hello(session::Message& message);
  Status welcome(const wire::Hello& hello);
  Status grant_streams(std::uint8_t wanted);
  Status join(const wire::JoinStream& message);
  Status refuse_version(std::uint16_t version);
  Status refuse(Code code, const std::string& message);
  Status serve();
  Status wait_for_bytes();
  Status take_payload(const Layout& destination, std::uint32_t swapped_word_bytes);
  Status check_words(const Region& region) const;
  Status drop_payload();

  Status dispatch(const session::Message& message);
  Status on_queue_command(const session::Message& message,
                          const std::shared_ptr<SessionQueue>& queue);
  Status on_object_command(const session::Message& message);
  Status on_allocate(const session::Message& message);
  Status allocate_in_place_of_others(const wire::Allocate& allocate);
  Status on_locate(const session::Message& message);
  Status on_write(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_read(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_digest(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_copy(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_call(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_execute(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_event(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_synchronize(const session::Message& message,
                        const std::shared_ptr<SessionQueue>& queue);
  // What goes from device to device: connection_peers.cpp.
  Status on_peer_command(const session::Message& message);
  Status connect_peer(const wire::ConnectPeer& connect);
  Status on_send(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  Status on_receive(const session::Message& message, const std::shared_ptr<SessionQueue>& queue);
  std::shared_ptr<const void> unrest();
  Status join_as_peer(const wire::JoinPeer& join);
  Status serve_peer(Mailbox::Deliverer& deliverer);

  Status announce_credits(QueueId id, const std::shared_ptr<SessionQueue>& queue);
  Status wait_for(const std::vector<BufferUse>& uses);
  // While a payload is held back no ping is answered: the client hears this often that the daemon
  // lives.
  static constexpr std::chrono::milliseconds kSignOfLife{500};
  Status show_life();

  // What a read's answer sends, held until it is sent.
  struct Source {
    std::shared_ptr<const void> memory;
    Layout elements;
    std::shared_ptr<StagedReader> staged;  // instead, if the host cannot see them
  };
  // Payloads of devices whose memory the host cannot see: connection_staging.cpp.
  Status stage(const wire::Write& write, std::uint64_t sequence,
               const std::shared_ptr<SessionQueue>& queue);
  Result<Source> staged_source(const Region& region, const SessionBuffer& buffer,
                               const std::shared_ptr<SessionQueue>& queue);
  void answer_staged(StagedReader& reader, QueueId queue, std::uint64_t sequence,
                     wire::Outcome outcome);
  Result<Source> source_of(const wire::Read& read, const std::shared_ptr<SessionQueue>& queue);
  Result<Source> digests_of(const session::Message& message, const wire::Digest& asked,
                            const std::shared_ptr<SessionQueue>& queue);
  Status answer_with(Source source, const session::Message& message,
                     const std::shared_ptr<SessionQueue>& queue);

  const std::unique_ptr<transport::StripedStream> stream_;
  SessionDirectory& directory_;
  session::MessageReceiver receiver_;
  ReplyChannel replies_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Mailbox> mailbox_;  // that another daemon delivers to
  std::atomic<const Mailbox*> delivers_to_{nullptr};
  std::string client_ = "unknown client";
  bool other_byte_order_ = false;  // the client's element data
  bool may_explain_ = false;       // the client speaks our protocol and was not refused
  bool unanswered_ = false;        // a queue command came since the last synchronize
  std::atomic<bool> resting_{true};
  std::atomic<bool> gone_{false};
  std::atomic<transport::Clock::time_point> resting_since_{transport::Clock::now()};
  std::atomic<const Session*> session_name_{nullptr};
};

}  // namespace ob::daemon
