// Listening and connecting with every transport.

#include <sys/socket.h>

#include <thread>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

class Listening : public ::testing::TestWithParam<Kind> {};

/// Returns true if a new client is served, even with dead clients before it in the queue.
bool serves_behind_dead_clients(Listener& listener) {
  const auto greeting = bytes_of("hello");
  auto client = std::async(std::launch::async, [&] {
    auto stream = require(connect(listener.address(), test_deadline()));
    return send_all(*stream, greeting).ok();
  });
  std::vector<std::byte> heard(greeting.size());
  Status status;
  do {
    const auto server = require(listener.accept(test_deadline()));
    status = receive_all(*server, heard);
  } while (status.code() == Code::connection_lost);
  return client.get() && status.ok() && heard == greeting;
}

TEST_P(Listening, AcceptEndsAtTheDeadline) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  EXPECT_EQ(listener->accept(soon()).status().code(), Code::deadline_exceeded);
  EXPECT_EQ(listener->accept(Deadline::min()).status().code(), Code::deadline_exceeded);
  Pair pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST_P(Listening, CloseWakesAcceptAndTurnsClientsAway) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  auto waiting =
      std::async(std::launch::async, [&] { return listener->accept(test_deadline()).status(); });
  std::thread([&] { listener->close(); }).join();
  EXPECT_EQ(waiting.get().code(), Code::unavailable);
  EXPECT_EQ(listener->accept(test_deadline()).status().code(), Code::unavailable);
  EXPECT_EQ(connect(listener->address(), test_deadline()).status().code(), Code::unavailable);
  listener->close();  // a second call has no effect
}

TEST_P(Listening, ATakenAddressIsRefusedAndItsOwnerGoesOn) {
  Folder folder;
  const auto owner = require(listen(address_in(folder, GetParam())));
  const Status status = listen(owner->address()).status();
  EXPECT_EQ(status.code(), Code::unavailable) << status.message();
  EXPECT_NE(status.message().find(owner->address()), std::string::npos) << status.message();
  EXPECT_TRUE(serves_behind_dead_clients(*owner));  // the refused one may have connected once
}

TEST_P(Listening, AnAddressCanBeTakenAgainAfterItsListenerEnded) {
  Folder folder;
  auto listener = require(listen(address_in(folder, GetParam())));
  const std::string address = listener->address();
  Pair pair = connect_to(*listener);
  pair.server.reset();  // tcp: this side closes first, which keeps the port in TIME_WAIT
  pair.client.reset();
  listener.reset();
  listener = require(listen(address));
  EXPECT_EQ(listener->address(), address);
  pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST_P(Listening, NobodyThereIsUnavailable) {
  Folder folder;
  auto listener = require(listen(address_in(folder, GetParam())));
  const std::string address = listener->address();
  listener.reset();
  const Status status = connect(address, test_deadline()).status();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find(address), std::string::npos) << status.message();
}

TEST_P(Listening, ClientsThatLeftBeforeTheyWereAcceptedDoNoHarm) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  if (GetParam() != Kind::tcp) {
    // A client waits for a welcome that nobody sends, then returns an error.
    EXPECT_EQ(connect(listener->address(), soon()).status().code(), Code::unavailable);
  } else {
    EXPECT_TRUE(connect(listener->address(), test_deadline()).ok());
  }
  EXPECT_TRUE(serves_behind_dead_clients(*listener));
}

// A server may keep the bare stream until the client has sent something.
TEST_P(Listening, TheTwoStepsOfAcceptMakeAStream) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  auto connected =
      std::async(std::launch::async, [&] { return connect(listener->address(), test_deadline()); });
  auto bare = require(listener->accept_bare(test_deadline()));
  EXPECT_EQ(bare->can_be_striped(), GetParam() != Kind::shm);
  if (GetParam() == Kind::ucx) {  // the client speaks first
    EXPECT_TRUE(bare->wait(true, false, test_deadline()).ok());
  }
  const auto server = require(listener->open(std::move(bare)));
  const auto client = require(connected.get());
  EXPECT_TRUE(talks(*client, *server));
}

INSTANTIATE_TEST_SUITE_P(Every, Listening, ::testing::ValuesIn(transports()), name);

TEST(ListeningTcp, Ipv6InBrackets) {
  auto listener = listen("[::1]:0");
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status().message();
  EXPECT_EQ((*listener)->address().rfind("[::1]:", 0), 0u) << (*listener)->address();
  Pair pair = connect_to(**listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
  EXPECT_EQ(pair.client->peer(), (*listener)->address());
}

TEST(ListeningTcp, EveryAddressOfANameIsTried) {
  const auto listener = require(listen("127.0.0.1:0"));
  const std::string port = listener->address().substr(listener->address().rfind(':') + 1);
  auto client = connect("localhost:" + port, test_deadline());  // ::1 may come first and refuse
  ASSERT_TRUE(client.ok()) << client.status().message();
  auto server = require(listener->accept(test_deadline()));
  EXPECT_TRUE(talks(**client, *server));
}

TEST(ListeningTcp, AnUnknownHostIsUnavailable) {
  const Status status = connect("no-such-host.invalid:1", test_deadline()).status();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("no-such-host.invalid"), std::string::npos) << status.message();
}

TEST(ListeningTcp, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_EQ(listen("192.0.2.1:0").status().code(),
            Code::unavailable);  // the range is reserved for documentation
}

}  // namespace
}  // namespace ob::transport::test
