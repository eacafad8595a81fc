// Devices that send peer messages to each other, as their client uses them.

#include <vector>

#include "client/remote_device.hpp"
#include "support/peer_session.hpp"
#include "support/random.hpp"

namespace ob::client {
namespace {

using test::Bytes;
using test::InProcessDaemon;
using test::line;
using test::require;
using test::Transport;

constexpr std::uint64_t kBytes = std::uint64_t{3} << 20;

struct End {
  explicit End(const std::string& address) : device(require(RemoteDevice::open(address))) {}
  Peering& peering() { return *device->peering(); }
  void write(Bytes& bytes) {
    const Layout source = Layout::bytes(bytes.data(), bytes.size());
    EXPECT_TRUE(device->write(queue, buffer, line(bytes.size()), source).ok());
  }
  Bytes read() {
    Bytes bytes(kBytes);
    const Layout destination = Layout::bytes(bytes.data(), bytes.size());
    EXPECT_TRUE(device->read(queue, buffer, line(bytes.size()), destination).ok());
    EXPECT_TRUE(device->synchronize(queue).status.ok());
    return bytes;
  }
  Status receive(std::uint64_t peer_message, PeerId next = {}) {
    return peering().receive(queue, {peer_message}, buffer, line(kBytes), next);
  }
  Status send(PeerId peer, std::uint64_t peer_message) {
    return peering().send(queue, peer, {peer_message}, buffer, line(kBytes));
  }
  Status await(std::uint64_t peer_message) {
    return peering().await({peer_message}, [] { return false; });
  }

  std::unique_ptr<RemoteDevice> device;
  QueueId queue = require(device->create_queue());
  BufferId buffer = require(device->allocate(kBytes));
};

class PeeringTest : public testing::Test {
 protected:
  std::mt19937_64 random = test::fresh_random();
  InProcessDaemon first{Transport::tcp};
  InProcessDaemon second{Transport::tcp};
  End a{first.address()};
  End b{second.address()};
  End c{first.address()};
};

TEST_F(PeeringTest, AMessageGoesRound) {
  Bytes sent = test::random_bytes(random, kBytes);
  a.write(sent);
  const PeerId to_b = require(a.peering().connect(require(b.peering().mailbox())));
  const PeerId to_c = require(b.peering().connect(require(c.peering().mailbox())));
  EXPECT_EQ(require(a.peering().connect(require(b.peering().mailbox()))), to_b);  // as before
  for (std::uint64_t peer_message = 1; peer_message <= 3; ++peer_message) {
    EXPECT_TRUE(c.receive(peer_message).ok());
    EXPECT_TRUE(b.receive(peer_message, to_c).ok());
    EXPECT_TRUE(a.send(to_b, peer_message).ok());
    EXPECT_TRUE(c.await(peer_message).ok());
    EXPECT_TRUE(b.await(peer_message).ok());
    EXPECT_TRUE(b.read() == sent);
    EXPECT_TRUE(c.read() == sent);
  }
  EXPECT_EQ(c.await(3).code(), Code::invalid_argument);  // a message is awaited once
}

TEST_F(PeeringTest, WhoLeavesCanBeReachedAgain) {
  const Mailbox old = require(b.peering().mailbox());
  const PeerId to_b = require(a.peering().connect(old));
  EXPECT_TRUE(b.receive(1).ok());
  int asked = 0;
  EXPECT_EQ(b.peering().await({1}, [&] { return ++asked > 1; }).code(), Code::unavailable);
  EXPECT_TRUE(b.peering().leave().ok());
  EXPECT_TRUE(a.peering().leave().ok());
  EXPECT_EQ(b.await(1).code(), Code::invalid_argument);
  // An old access key is invalid, and reveals nothing about the next one.
  EXPECT_EQ(a.peering().connect(old).status().code(), Code::invalid_argument);
  const Mailbox mailbox = require(b.peering().mailbox());
  EXPECT_NE(mailbox.access_key, old.access_key);
  const PeerId again = require(a.peering().connect(mailbox));
  EXPECT_NE(again, to_b);
  Bytes sent = test::random_bytes(random, kBytes);
  a.write(sent);
  EXPECT_TRUE(b.receive(1).ok());
  EXPECT_TRUE(a.send(again, 1).ok());
  EXPECT_TRUE(b.await(1).ok());
  EXPECT_TRUE(b.read() == sent);
}

TEST_F(PeeringTest, AnAddressThatCannotBeReachedIsAskedOnce) {
  const Mailbox nowhere{"127.0.0.1:1", {1, 2}};
  EXPECT_EQ(a.peering().connect(nowhere).status().code(), Code::unavailable);
  EXPECT_EQ(a.peering().connect({nowhere.address, {3, 4}}).status().code(), Code::unavailable);
  EXPECT_FALSE(a.device->broken());
}

}  // namespace
}  // namespace ob::client
