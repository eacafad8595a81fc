// Tests the set-up of a connection over UCX, and the peers that are refused. The test itself writes
// the messages of one side of the control channel.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "transport/link.hpp"
#include "transport/ucx/channel.hpp"
#include "transport/ucx/hello.hpp"
#include "transport/ucx/library.hpp"

namespace ob::transport::test {
namespace {

using ucx::Channel;
using ucx::DataHeader;
using ucx::Hello;
using ucx::HelloHead;
using ucx::HelloReceiver;
using ucx::Token;

std::string version() { return require(ucx::library())->version(); }

std::string control_address(const Listener& listener) {
  return listener.address().substr(std::string("ucx:").size());
}

/// Connects to a listener on plain tcp that sends `hello` to its client.
Status connect_to_one_who_says(const std::vector<std::byte>& hello) {
  const auto listener = require(listen("127.0.0.1:0"));
  auto client = std::async(std::launch::async, [&] {
    return connect("ucx:" + listener->address(), test_deadline()).status();
  });
  const auto control = require(listener->accept(test_deadline()));
  EXPECT_TRUE(send_all(*control, hello).ok());
  return client.get();
}

std::vector<std::byte> head_with(const std::function<void(HelloHead&)>& change) {
  HelloHead head{};
  head.magic = ucx::kHelloMagic;
  head.protocol = ucx::kProtocol;
  head.address_bytes = 8;
  version().copy(head.version, sizeof head.version - 1);
  change(head);
  std::vector<std::byte> bytes(sizeof head + 8);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

void set_version(HelloHead& head, const char* text) {
  std::memset(head.version, 0, sizeof head.version);
  std::strcpy(head.version, text);
}

TEST(UcxHandshake, AnotherReleaseOfUcxIsRefusedByTheClientWhoNamesBoth) {
  const Status status =
      connect_to_one_who_says(head_with([](HelloHead& head) { set_version(head, "0.99.1"); }));
  EXPECT_EQ(status.code(), Code::version_mismatch) << status.message();
  EXPECT_NE(status.message().find("UCX 0.99.1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(version()), std::string::npos) << status.message();
}

TEST(UcxHandshake, AnotherReleaseOfUcxIsRefusedByTheServerWhoNamesBoth) {
  const auto listener = require(listen("ucx:127.0.0.1:0"));
  const auto control = require(connect(control_address(*listener), test_deadline()));
  const auto server = require(listener->accept(test_deadline()));
  ASSERT_TRUE(
      send_all(*control, head_with([](HelloHead& head) { set_version(head, "0.99.1"); })).ok());
  const Status status = server->wait(true, false, test_deadline());
  EXPECT_EQ(status.code(), Code::version_mismatch) << status.message();
  EXPECT_NE(status.message().find("UCX 0.99.1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(version()), std::string::npos) << status.message();
}

TEST(UcxHandshake, WordsThatAreNoHelloAreRefused) {
  const auto code = [](const std::function<void(HelloHead&)>& change) {
    return connect_to_one_who_says(head_with(change)).code();
  };
  EXPECT_EQ(code([](HelloHead& head) { head.magic += 1; }), Code::protocol_error);
  EXPECT_EQ(code([](HelloHead& head) { head.magic = __builtin_bswap64(head.magic); }),
            Code::unsupported);
  EXPECT_EQ(code([](HelloHead& head) { head.protocol += 1; }), Code::version_mismatch);
  EXPECT_EQ(code([](HelloHead& head) { head.address_bytes = 0; }), Code::protocol_error);
  EXPECT_EQ(code([](HelloHead& head) { head.address_bytes = ~0u; }), Code::protocol_error);
  EXPECT_EQ(code([](HelloHead& head) { std::memset(head.version, 'x', sizeof head.version); }),
            Code::protocol_error);
}

/// A client of our listener; the test drives its UCX side itself.
struct ByHand {
  ByHand() {
    control = require(connect(control_address(*listener), test_deadline()));
    server = require(listener->accept(test_deadline()));
    HelloReceiver receiver(version());
    for (;;) {
      auto hello = require(receiver.poll(*control));
      if (hello.has_value()) {
        of_server = *hello;
        break;
      }
      EXPECT_TRUE(control->wait(true, false, test_deadline()).ok());
    }
    EXPECT_TRUE(ucx::HelloSender(channel->hello()).advance(*control).ok());
  }
  /// Sends `text` under `token` as the next bytes of the stream.
  void say(const Token& token, const std::string& text) {
    const std::span<std::byte> space = channel->send_ring().reserve();
    const auto bytes = bytes_of(text);
    std::copy(bytes.begin(), bytes.end(), space.begin());
    if (!channel->connected()) {
      Hello pretended = of_server;
      pretended.token = token;
      EXPECT_TRUE(channel->connect(pretended).ok());
    }
    channel->send(bytes.size());
  }
  /// Lets both sides progress until the server has a byte or the deadline passes.
  Status server_hears(Deadline deadline) {
    for (;;) {
      channel->progress();
      const Status status = server->wait(true, false, soon());
      if (status.code() != Code::deadline_exceeded || Clock::now() >= deadline) return status;
    }
  }

  std::unique_ptr<Listener> listener = require(listen("ucx:127.0.0.1:0"));
  std::unique_ptr<Channel> channel = require(Channel::create(true));
  std::unique_ptr<Stream> control;
  std::unique_ptr<Stream> server;
  Hello of_server;
};

TEST(UcxHandshake, MessagesWithoutTheTokenAreThrownAway) {
  ByHand stranger;
  Token wrong = stranger.of_server.token;
  wrong.back() ^= std::byte{1};
  stranger.say(wrong, "let me in");
  EXPECT_EQ(stranger.server_hears(Clock::now() + std::chrono::milliseconds(500)).code(),
            Code::deadline_exceeded);
  std::byte byte{};
  const auto received = try_receive(*stranger.server, {&byte, 1});
  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_EQ(*received, 0u);
  stranger.control->shut_down();
  EXPECT_EQ(receive_all(*stranger.server, {&byte, 1}).code(), Code::connection_lost);
  (void)stranger.channel.release();  // the server never answered: see ~Worker()
}

TEST(UcxHandshake, TheSameMessagesWithTheTokenAreHeard) {
  ByHand client;
  client.say(client.of_server.token, "let me in");
  ASSERT_TRUE(client.server_hears(test_deadline()).ok());
  std::vector<std::byte> heard(9);
  ASSERT_TRUE(receive_all(*client.server, heard).ok());
  EXPECT_EQ(heard, bytes_of("let me in"));
  while (!client.channel->may_end()) client.channel->progress();
}

TEST(UcxHandshake, EachConnectionHasItsOwnTokens) {
  const auto listener = require(listen("ucx:127.0.0.1:0"));
  const ByHand first;
  const ByHand second;
  EXPECT_NE(first.of_server.token, second.of_server.token);
  EXPECT_NE(first.of_server.token, Token{});
  EXPECT_NE(first.of_server.token, first.channel->hello().token);
}

/// Returns the local addresses of this process's listening sockets, in the system's notation.
std::vector<std::string> listening() {
  std::vector<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    inodes.push_back(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  std::vector<std::string> addresses;
  std::ifstream table("/proc/self/net/tcp");
  std::string line;
  std::getline(table, line);  // skips the heading
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::vector<std::string> word;
    for (std::string next; words >> next;) word.push_back(next);
    if (word.size() < 10 || word[3] != "0A") continue;  // not a listening socket
    const std::string socket = "socket:[" + word[9] + "]";
    if (std::find(inodes.begin(), inodes.end(), socket) != inodes.end())
      addresses.push_back(word[1].substr(0, 8));
  }
  return addresses;
}

TEST(UcxHandshake, OnLoopbackNothingListensElsewhere) {
  // If the daemon listens on loopback, so must UCX: other machines must not reach its port.
  const Link link(Kind::ucx);
  const auto addresses = listening();
  EXPECT_GE(addresses.size(), 3u) << "the listener's, and UCX's on both sides";
  for (const std::string& address : addresses) EXPECT_EQ(address, "0100007F");
}

}  // namespace
}  // namespace ob::transport::test
