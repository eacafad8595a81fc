#pragma once
// One connection, from its handshake to its end.

#include <atomic>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/served_connection.hpp"
#include "daemon/server/connection_services.hpp"
#include "daemon/server/handshake.hpp"
#include "daemon/server/handshake_budget.hpp"
#include "daemon/server/member_connections.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

/// The connection of a client, or of another daemon that sends to a session.
/// Threads: run(), is_member(), name() and peer() by its own thread; the rest by any thread
class Connection {
 public:
  Connection(std::unique_ptr<transport::Stream> stream, const ConnectionServices& services);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// False if too many handshakes are under way; then the connection cannot run.
  /// Threads: before run()
  bool has_place() const noexcept { return place_ != nullptr; }
  /// Serves the other side until it leaves.   @returns the reason for the log; ok after goodbye
  /// @pre has_place()
  Status run();
  /// True if the other side has finished its handshake.
  bool is_member() const noexcept { return is_member_; }
  /// The origin of the stream, see source_of().   Threads: any
  const std::string& source() const noexcept { return source_; }
  /// True if the other side has sent nothing that is unanswered.
  bool idle() const;
  /// True if the other side has left or was cut off: nobody waits for the device's work any more.
  bool gone() const noexcept { return gone_since_.load() != transport::Clock::time_point::max(); }
  /// True if the other side has left after that time. The connection may not have noticed it yet.
  bool left_after(transport::Clock::time_point time) const noexcept;
  /// The time of the last message; meaningful while idle().
  transport::Clock::time_point idle_since() const noexcept { return channel_->idle_since(); }
  /// Returns the client's session as a name; nullptr before and after the session. Must not be
  /// dereferenced.
  const Session* session_name() const noexcept { return session_name_; }
  /// True if the other side was revoked after it had proven its identity.
  bool revoked() const { return channel_->stream().revoked(); }
  void shut_down() noexcept { channel_->shut_down(); }
  /// Counts the connection's bytes in this counter, too.   Threads: before run()
  void count_in(std::shared_ptr<UseCounter> counter) {
    channel_->stream().count_in(std::move(counter));
  }
  std::string peer() const { return channel_->stream().peer(); }
  /// The name of the other side, for the log.
  const std::string& name() const noexcept { return name_; }

 private:
  Status serve(Handshake& handshake);
  Status reason(Status status) const;
  void note_gone() noexcept;
  void close();

  const ConnectionServices& services_;
  const std::shared_ptr<Channel> channel_;
  std::unique_ptr<ServedConnection> served_;             // set once, by run()
  std::atomic<const ServedConnection*> known_{nullptr};  // for other threads
  std::string name_ = "unknown client";
  std::atomic<transport::Clock::time_point> gone_since_{transport::Clock::time_point::max()};
  std::atomic<const Session*> session_name_{nullptr};
  const std::string source_;
  std::atomic<bool> is_member_{false};
  MemberConnections::Seat seat_;
  std::unique_ptr<HandshakeBudget::Place> place_;  // during the handshake; ends before all else
};

}  // namespace ob::daemon
