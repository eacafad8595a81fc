#pragma once
// A link to another device on which nothing is sent.

#include "daemon/peers/peer_transport.hpp"

namespace ob::test {

class UnusedTransport final : public daemon::PeerTransport {
 public:
  Status send(daemon::SendResources&, const daemon::PendingSend&,
              const std::function<bool()>&) override {
    return {};
  }
  bool alive() override { return true; }
  void close() override {}
  void abort() override {}
  void interrupt() noexcept override {}
};

}  // namespace ob::test
