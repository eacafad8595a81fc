#include "daemon/peers/message_source.hpp"

#include <exception>
#include <utility>

namespace ob::daemon {

MessageSource::MessageSource(std::shared_ptr<Mailbox> mailbox, std::function<void()> stop)
    : mailbox_(std::move(mailbox)),
      stop_(std::move(stop)),
      landing_(mailbox_->device(), mailbox_->host_memory()) {
  mailbox_->add(stop_);
}

MessageSource::~MessageSource() { mailbox_->remove(stop_, !closed_); }

Status MessageSource::deliver(const wire::PeerMessage& peer_message, const FetchNext& fetch,
                              const std::function<bool()>& cancelled) {
  OB_ASSIGN_OR_RETURN(const PostedReceive posted, mailbox_->match(peer_message, cancelled));
  Status status;
  try {
    status = receive(posted, fetch);
  } catch (const std::exception& error) {  // out of memory: the client must get the error
    status = Status(Code::out_of_memory, error.what());
  }
  mailbox_->note_arrived();
  posted.done(status);
  return status;
}

// Delivers to the message's region, and to the peer to which it is forwarded.
Status MessageSource::receive(const PostedReceive& posted, const FetchNext& fetch) {
  if (!posted.forward) return landing_.land(*posted.buffer, posted.region, fetch);
  const auto forwarded = posted.forward();
  const Status status =
      landing_.land(*posted.buffer, posted.region, [&](const Layout& room) -> Status {
        OB_RETURN_IF_ERROR(fetch(room));
        return forwarded->append(room);
      });
  if (!status.ok()) forwarded->fail(status);
  return status;
}

}  // namespace ob::daemon
