#pragma once
// The connection of a client that has a session.

#include <memory>

#include "base/status.hpp"
#include "daemon/io/served_connection.hpp"
#include "daemon/session/client_context.hpp"
#include "daemon/session/command_table.hpp"

namespace ob::daemon {

/// Takes the client's commands, checks them, and submits them to the session's queues. The queues
/// answer through the channel.
class ClientConnection final : public ServedConnection {
 public:
  explicit ClientConnection(ClientContext client) : client_(std::move(client)) {}

  Status serve() override;
  void close() override;
  const Session* session() const noexcept override { return client_.session.get(); }

 private:
  Status execute_if_leased(const session::Message& message);
  Status execute(const session::Message& message);
  Status execute_on_queue(const Command& row, const session::Message& message);
  Status submit(const Command& row, const QueueCommand& command);

  ClientContext client_;
  bool said_goodbye_ = false;
};

}  // namespace ob::daemon
