#pragma once
// Transfers from device to device. This process only sends the commands.

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/daemon_link.hpp"
#include "client/remote_buffers.hpp"
#include "client/remote_queues.hpp"
#include "device/peering.hpp"

namespace ob::client {

/// Threads: one at a time.
class RemotePeers final : public Peering {
 public:
  RemotePeers(DaemonLink& link, RemoteQueues& queues, RemoteBuffers& buffers)
      : link_(link), queues_(queues), buffers_(buffers) {}

  Result<Mailbox> mailbox() override;
  Result<PeerId> connect(const Mailbox& mailbox) override;
  Status send(QueueId queue, PeerId peer, PeerMessageId peer_message, BufferId buffer,
              const Region& region) override;
  Status receive(QueueId queue, PeerMessageId peer_message, BufferId buffer, const Region& region,
                 PeerId next) override;
  Status await(PeerMessageId peer_message, const std::function<bool()>& give_up) override;
  Status check() override;
  Status leave() override;

 private:
  DaemonLink& link_;
  RemoteQueues& queues_;
  RemoteBuffers& buffers_;
  std::optional<Mailbox> mailbox_;
  // The outcome of each attempt to connect.
  std::vector<std::pair<Mailbox, Result<PeerId>>> peers_;
  // The sequences of receive commands that nobody has waited for yet.
  std::unordered_map<PeerMessageId, std::uint64_t> posted_receives_;
};

}  // namespace ob::client
