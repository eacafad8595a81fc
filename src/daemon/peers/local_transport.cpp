// Sends peer messages to another session of this daemon.

#include <cstddef>
#include <utility>
#include <vector>

#include "daemon/memory/region_pieces.hpp"
#include "daemon/peers/message_source.hpp"
#include "daemon/peers/peer_transport.hpp"

namespace ob::daemon {
namespace {

class LocalTransport final : public PeerTransport {
 public:
  explicit LocalTransport(std::shared_ptr<Mailbox> mailbox)
      : mailbox_(std::move(mailbox)), source_(std::make_unique<MessageSource>(mailbox_, [] {})) {}

  Status send(SendResources& resources, const PendingSend& message,
              const std::function<bool()>& cancelled) override {
    const wire::PeerMessage header{message.peer_message, shape_of(message.region)};
    if (message.forwarded != nullptr) {
      const auto unwanted = [&] { return cancelled() || mailbox_->closed(); };
      return source_->deliver(
          header,
          [&](const Layout& room) { return fetch_forwarded(*message.forwarded, room, unwanted); },
          cancelled);
    }
    // The receiver has the same shape, so it asks for the same pieces.
    std::vector<Region> pieces;
    OB_RETURN_IF_ERROR(
        for_each_piece(message.region, kStagingBlockBytes, [&](const Region& piece) -> Status {
          pieces.push_back(piece);
          return {};
        }));
    std::size_t next = 0;
    return source_->deliver(
        header,
        [&](const Layout& room) {
          return fetch(resources, message.buffer->local, pieces[next++], room);
        },
        cancelled);
  }

  bool alive() override { return !mailbox_->closed(); }

  void close() override {
    source_->close();
    source_.reset();
  }

  void abort() override { source_.reset(); }
  void interrupt() noexcept override {}  // send() calls `cancelled`

 private:
  static Status fetch(SendResources& resources, BufferId buffer, const Region& piece,
                      const Layout& room) {
    if (std::byte* const memory = resources.device.host_view(buffer)) {
      ob::copy(room, Layout::matrix(memory, piece));
      return {};
    }
    OB_RETURN_IF_ERROR(resources.open_transfers());
    OB_RETURN_IF_ERROR(resources.device.read(resources.transfers, buffer, piece, room));
    return resources.device.synchronize(resources.transfers).status;
  }

  static Status fetch_forwarded(ForwardBuffer& forwarded, const Layout& room,
                                const std::function<bool()>& unwanted) {
    for (Layout::Cursor to(room); !to.done();) {
      OB_ASSIGN_OR_RETURN(const auto part, forwarded.read(unwanted));
      forwarded.consume(scatter(part, to));
    }
    return {};
  }

  const std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<MessageSource> source_;
};

}  // namespace

std::unique_ptr<PeerTransport> make_local_transport(std::shared_ptr<Mailbox> mailbox) {
  return std::make_unique<LocalTransport>(std::move(mailbox));
}

}  // namespace ob::daemon
