#pragma once
// The start of a connection: identifies the other end, and chooses the object that serves it.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/served_connection.hpp"
#include "daemon/server/connection_services.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Reads the first message of a stream, and answers it.
/// Threads: the connection's I/O thread
class Handshake {
 public:
  Handshake(std::shared_ptr<Channel> channel, const ConnectionServices& services)
      : channel_(std::move(channel)), services_(services) {}

  /// Reads the first message. A stream that joins another connection is handed over to it.
  /// @returns the object that serves a client or another daemon; nullptr if the stream was handed
  /// over
  /// Errors: protocol_error; the reason of a refusal; those of the stream
  Result<std::unique_ptr<ServedConnection>> accept();
  /// Answers the first message, so that the other side continues.
  /// Errors: protocol_error; those of the stream   @pre accept() has returned a connection
  Status answer();

  /// Returns the place among the connections that accept() has taken; empty for a stream that was
  /// handed over.
  MemberConnections::Seat take_seat() noexcept { return std::move(seat_); }

  /// The name of the other side, for the log.
  const std::string& name() const noexcept { return name_; }
  /// True if the other side speaks this protocol and was not refused.
  bool may_report_failure() const noexcept { return may_report_failure_; }

 private:
  using Accepted = Result<std::unique_ptr<ServedConnection>>;
  Result<session::Message> receive_first();
  Accepted accept_client(const session::Message& message);
  Accepted accept_peer(const session::Message& message);
  Accepted accept_stream(const session::Message& message);
  Status welcome();
  Status grant_streams(std::uint8_t wanted);
  Status become_member();
  GrantedKernels granted_kernels() const;
  Status refuse(Code code, const std::string& message);
  Status check_version(std::uint16_t version);

  const std::shared_ptr<Channel> channel_;
  const ConnectionServices& services_;
  MemberConnections::Seat seat_;
  std::shared_ptr<Session> session_;  // a client's
  std::uint8_t wanted_streams_ = 0;
  bool wants_kernels_ = false;
  std::uint16_t version_ = wire::kVersion;  // of the client
  std::string name_ = "unknown client";
  bool may_report_failure_ = false;
};

}  // namespace ob::daemon
