#include "daemon/peers/message_source.hpp"

#include <exception>
#include <utility>

#include "daemon/memory/region_pieces.hpp"

namespace ob::daemon {

MessageSource::MessageSource(std::shared_ptr<Mailbox> mailbox, std::function<void()> stop)
    : mailbox_(std::move(mailbox)), stop_(std::move(stop)) {
  mailbox_->add(stop_);
}

MessageSource::~MessageSource() {
  mailbox_->remove(stop_, !closed_);
  if (queue_) (void)mailbox_->device().destroy_queue(queue_);
}

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
  if (!posted.forward) return land(posted, fetch);
  const auto forwarded = posted.forward();
  const Status status = land(posted, [&](const Layout& room) -> Status {
    OB_RETURN_IF_ERROR(fetch(room));
    return forwarded->append(room);
  });
  if (!status.ok()) forwarded->fail(status);
  return status;
}

Status MessageSource::land(const PostedReceive& posted, const FetchNext& fetch) {
  std::byte* const memory = mailbox_->device().host_view(posted.buffer->local);
  if (memory == nullptr) return land_staged(posted, fetch);
  return for_each_piece(posted.region, StagedWriter::kBlockBytes,
                        [&](const Region& piece) { return fetch(Layout::matrix(memory, piece)); });
}

// The device copies one block while the next one arrives.
Status MessageSource::land_staged(const PostedReceive& posted, const FetchNext& fetch) {
  OB_RETURN_IF_ERROR(open_queue());
  const Status status =
      for_each_piece(posted.region, StagedWriter::kBlockBytes, [&](const Region& piece) -> Status {
        const std::uint64_t size_bytes = packed_bytes(piece);
        OB_ASSIGN_OR_RETURN(std::byte* const room,
                            writer_->room(size_bytes, [] { return Status(); }));
        OB_RETURN_IF_ERROR(fetch(Layout::bytes(room, size_bytes)));
        return writer_->submit(posted.buffer->local, piece);
      });
  const QueueReport report = mailbox_->device().synchronize(queue_);
  return status.ok() ? report.status : status;
}

Status MessageSource::open_queue() {
  if (writer_ != nullptr) return {};
  Device& device = mailbox_->device();
  OB_ASSIGN_OR_RETURN(Reservation memory, mailbox_->reserve_host(StagedWriter::kHostBytes));
  if (!queue_) {
    OB_ASSIGN_OR_RETURN(queue_, device.create_queue());
  }
  writer_ = std::make_unique<StagedWriter>(device, queue_, std::move(memory));
  return {};
}

}  // namespace ob::daemon
