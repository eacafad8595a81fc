#pragma once
// The connection of another daemon that sends to a session of this one.

#include <memory>
#include <optional>

#include "base/status.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/element_byte_order.hpp"
#include "daemon/io/served_connection.hpp"
#include "daemon/peers/mailbox.hpp"
#include "daemon/peers/message_source.hpp"

namespace ob::daemon {

/// Delivers the peer messages that arrive to one mailbox.
class PeerConnection final : public ServedConnection {
 public:
  PeerConnection(std::shared_ptr<Channel> channel, std::shared_ptr<Mailbox> mailbox,
                 ElementByteOrder byte_order);

  Status serve() override;
  void close() override { source_.reset(); }
  bool idle() const override { return mailbox_->idle(); }

 private:
  Status serve_messages();
  Status deliver(const session::Message& message);

  const std::shared_ptr<Channel> channel_;
  const std::shared_ptr<Mailbox> mailbox_;
  const ElementByteOrder byte_order_;
  std::optional<MessageSource> source_;
};

}  // namespace ob::daemon
