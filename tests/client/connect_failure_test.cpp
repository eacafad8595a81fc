// The notices about connections that do not come about: one sentence, with the address once, that
// says what to do.

#include "client/connect_failure.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <thread>

#include "client/connection.hpp"
#include "support/raw_client.hpp"

namespace ob::client {
namespace {

using test::InProcessDaemon;
using test::RawClient;
using test::require;
using test::TemporaryFolder;

// A daemon that answers each connection in its own way, and closes it.
class OddServer {
 public:
  explicit OddServer(std::function<void(RawClient&)> answer, const std::string& at = "127.0.0.1:0")
      : listener_(require(transport::listen(at))), thread_([this, answer] {
          for (;;) {
            auto stream = listener_->accept(RawClient::deadline());
            if (!stream.ok()) return;
            RawClient peer(std::move(*stream));
            answer(peer);
          }
        }) {}
  ~OddServer() {
    listener_->close();
    thread_.join();
  }
  std::string address() const { return listener_->address(); }

 private:
  std::unique_ptr<transport::Listener> listener_;
  std::thread thread_;
};

void say(RawClient& peer, wire::Opcode opcode, const auto& message) {
  wire::Body body;
  wire::encode(message, body);
  wire::Header header;
  header.opcode = opcode;
  (void)peer.send(header, body.bytes());
  (void)peer.stream().wait(true, false, RawClient::deadline());
}

// Returns the message of a failed connection. It names `named` once.
std::string failure_at(const std::string& address, const std::string& named,
                       int connect_ms = 20'000) {
  ConnectionConfig config;
  config.timeouts.connect_ms = connect_ms;
  const auto made = Connection::open(address, config);
  EXPECT_FALSE(made.ok());
  const std::string message = made.status().message();
  const std::size_t first = message.find(named);
  EXPECT_NE(first, std::string::npos) << message;
  EXPECT_EQ(message.find(named, first + 1), std::string::npos) << message;
  EXPECT_EQ(message.find('?'), std::string::npos) << message;
  return message;
}

std::string failure_at(const std::string& address) { return failure_at(address, address); }

TEST(ConnectFailure, OfAClosedPort) {
  const std::string address = [] {
    const OddServer gone([](RawClient&) {});
    return gone.address();
  }();
  EXPECT_EQ(failure_at(address),
            "cannot connect to " + address +
                " (Connection refused); check that the daemon runs and that the port is right and "
                "open");
  const std::string port = address.substr(address.find(':'));
  const std::string by_name = failure_at("localhost" + port);
  EXPECT_NE(by_name.find("127.0.0.1" + port + ": Connection refused"), std::string::npos)
      << by_name;
}

TEST(ConnectFailure, OfAnUnknownHost) {
  const std::string message = failure_at("no-such-host.invalid:7770", "no-such-host.invalid");
  EXPECT_TRUE(message.starts_with("cannot find host \"no-such-host.invalid\" (")) << message;
  EXPECT_TRUE(message.ends_with("); check the spelling, or write its number")) << message;
}

TEST(ConnectFailure, OfAnAddressWithoutPort) {
  EXPECT_EQ(failure_at("node7"),
            "malformed address \"node7\" (the port is missing); write HOST:PORT, [IPV6]:PORT, "
            "unix:PATH or ucx:HOST:PORT");
}

TEST(ConnectFailure, OfASilentServer) {
  const OddServer server([](RawClient& peer) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    (void)peer;
  });
  EXPECT_EQ(
      failure_at(server.address(), server.address(), 200),
      server.address() +
          " does not answer; check that the address is a daemon's, and that the daemon is not "
          "stopped or overloaded");
}

TEST(ConnectFailure, OfAServerThatCloses) {
  const OddServer server([](RawClient&) {});
  const std::string message = failure_at(server.address());
  EXPECT_TRUE(message.starts_with(server.address() + " ended the connection before it answered ("))
      << message;
  EXPECT_TRUE(message.ends_with("); check that the address is a daemon's, and see its log"))
      << message;
}

TEST(ConnectFailure, OfAnotherProtocol) {
  const OddServer server([](RawClient& peer) {
    const std::string text = "HTTP/1.0 400 Bad Request\r\n\r\n" + std::string(4096, 'x');
    (void)peer.send_bytes(std::as_bytes(std::span(text)));
    (void)peer.stream().wait(true, false, RawClient::deadline());
  });
  EXPECT_EQ(failure_at(server.address()),
            server.address() +
                " does not speak Outboard's protocol (header of opcode 21576: the opcode is "
                "unknown); check that the address is a daemon's, and that both sides are of one "
                "release");
}

TEST(ConnectFailure, OfARefusedClient) {
  const OddServer server([](RawClient& peer) {
    say(peer, wire::Opcode::refused,
        wire::Refused{.code = Code::denied, .version = wire::kVersion, .message = "no room"});
  });
  EXPECT_EQ(failure_at(server.address()), server.address() + " refused the connection: no room");
}

TEST(ConnectFailure, OfAnotherVersion) {
  const OddServer server([](RawClient& peer) {
    wire::Welcome welcome;
    welcome.version = 99;
    say(peer, wire::Opcode::welcome, welcome);
  });
  EXPECT_EQ(failure_at(server.address()),
            server.address() + " speaks version 99 of the protocol, and this library version " +
                std::to_string(wire::kVersion) + "; install matching releases");
}

TEST(ConnectFailure, OfAMissingSocket) {
  const TemporaryFolder folder;
  const std::string address = "unix:" + folder.file("socket");
  EXPECT_EQ(failure_at(address),
            "cannot connect to " + address +
                " (No such file or directory); check that the daemon runs and that the path is "
                "right");
}

TEST(ConnectFailure, OfASocketThatNobodyServes) {
  const TemporaryFolder folder;
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  folder.file("socket").copy(name.sun_path, sizeof name.sun_path - 1);
  const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  const std::string address = "unix:" + folder.file("socket");
  EXPECT_EQ(failure_at(address, address, 200),
            address + " does not answer; check that the daemon is not stopped or overloaded");
  ::close(listening);
}

TEST(ConnectFailure, LeavesOtherSentencesAsTheyAre) {
  const Status denied(Code::denied, "a:1 refuses this key");
  EXPECT_EQ(connect_failure("a:1", denied).message(), denied.message());
  const Status tls(Code::connection_lost, "a:1 ended the connection during the TLS handshake");
  EXPECT_EQ(connect_failure("a:1", tls).message(), tls.message());
}

}  // namespace
}  // namespace ob::client
