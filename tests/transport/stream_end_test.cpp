// Tests of the end of a stream, for every kind of stream.

#include <sys/socket.h>

#include <thread>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

class StreamEnd : public ::testing::TestWithParam<Kind> {};

/// Sends until a call fails. The system may take some bytes before it knows of the end.
Status send_until_failure(Stream& stream) {
  const std::vector<std::byte> text(1 << 16);
  for (;;) {
    OB_ASSIGN_OR_RETURN(const std::size_t sent, try_send(stream, text));
    if (sent == 0) OB_RETURN_IF_ERROR(stream.wait(false, true, test_deadline()));
  }
}

TEST_P(StreamEnd, LastWordsArriveBeforeTheEnd) {
  Link link(GetParam());
  const auto words = bytes_of("goodbye, and thanks for all the cycles");
  ASSERT_TRUE(send_all(*link.server, words).ok());
  link.server.reset();
  std::vector<std::byte> heard(words.size());
  ASSERT_TRUE(link.client->wait(true, false, test_deadline()).ok());
  ASSERT_TRUE(receive_all(*link.client, heard).ok());
  EXPECT_EQ(heard, words);
  EXPECT_EQ(receive_all(*link.client, heard).code(), Code::connection_lost);
  EXPECT_EQ(send_until_failure(*link.client).code(), Code::connection_lost);
}

TEST_P(StreamEnd, LastWordsArriveEvenIfTheirSenderDidNotListen) {
  Link link(GetParam());
  const std::vector<std::byte> unheard(100'000, std::byte{1});
  ASSERT_TRUE(send_all(*link.client, unheard).ok());
  ASSERT_TRUE(link.server->wait(true, false, test_deadline()).ok());
  const auto words = bytes_of("refused");
  ASSERT_TRUE(send_all(*link.server, words).ok());
  link.server.reset();
  std::vector<std::byte> heard(words.size());
  ASSERT_TRUE(receive_all(*link.client, heard).ok());
  EXPECT_EQ(heard, words);
}

// More than a connection holds is handed over, and nobody reads it before the end.
TEST(StreamEndOverTcp, DiscardsWhatHasNotLeftIfAsked) {
  for (const Kind kind : {Kind::tcp, Kind::striped2}) {
    for (const bool discards : {false, true}) {
      Link link(kind);
      if (discards) link.client->discard_unsent_at_end();
      const std::vector<std::byte> text(1 << 16);
      std::size_t accepted = 0;
      for (;;) {
        const std::size_t sent = require(try_send(*link.client, text));
        accepted += sent;
        if (sent == 0 && !link.client->wait(false, true, soon()).ok()) break;
      }
      link.client.reset();
      std::size_t arrived = 0;
      std::vector<std::byte> room(1 << 16);
      for (;;) {
        const auto received = try_receive(*link.server, room);
        if (!received.ok()) break;
        arrived += *received;
        if (*received == 0) (void)link.server->wait(true, false, soon());
      }
      EXPECT_EQ(arrived < accepted, discards) << arrived << " of " << accepted;
    }
  }
}

TEST_P(StreamEnd, WaitersHearOfThePeersEnd) {
  Link link(GetParam());
  std::byte byte{};
  auto receiver = std::async(std::launch::async, [&] {
    return receive_all(*link.client, {&byte, 1});
  });
  auto sender = std::async(std::launch::async, [&] { return send_until_failure(*link.client); });
  link.server.reset();
  EXPECT_EQ(receiver.get().code(), Code::connection_lost);
  EXPECT_EQ(sender.get().code(), Code::connection_lost);
}

TEST_P(StreamEnd, ShutDownWakesWaitersOnBothSides) {
  Link link(GetParam());
  std::byte here{};
  std::byte there{};
  auto ours = std::async(std::launch::async, [&] { return receive_all(*link.client, {&here, 1}); });
  auto theirs = std::async(std::launch::async, [&] {
    return receive_all(*link.server, {&there, 1});
  });
  std::thread([&] { link.client->shut_down(); }).join();
  EXPECT_EQ(ours.get().code(), Code::connection_lost);
  EXPECT_EQ(theirs.get().code(), Code::connection_lost);
  EXPECT_EQ(try_send(*link.client, {&here, 1}).status().code(), Code::connection_lost);
  EXPECT_EQ(try_receive(*link.client, {&here, 1}).status().code(), Code::connection_lost);
  EXPECT_EQ(link.client->wait(false, true, test_deadline()).code(), Code::connection_lost);
  EXPECT_EQ(send_until_failure(*link.server).code(), Code::connection_lost);
  link.client->shut_down();  // a second call has no effect
}

/// Sends until the peer has had no room for some time.
void fill(Stream& stream) {
  const std::vector<std::byte> text(1 << 18);  // much at once closes the window of TCP
  for (;;) {
    if (require(try_send(stream, text)) != 0) continue;
    if (stream.wait(false, true, soon()).code() == Code::deadline_exceeded) return;
  }
}

// The system itself would tell the sender of the end a minute later.
TEST_P(StreamEnd, ThePeersEndWakesASenderThatIsHeldBack) {
  Link link(GetParam());
  fill(*link.client);
  const auto begun = Clock::now();
  auto sender = std::async(std::launch::async, [&] { return send_until_failure(*link.client); });
  link.server.reset();
  EXPECT_EQ(sender.get().code(), Code::connection_lost);
  EXPECT_LT(Clock::now(), begun + std::chrono::seconds(30));
}

TEST_P(StreamEnd, ShutDownWakesASenderThatIsHeldBack) {
  Link link(GetParam());
  fill(*link.client);
  std::promise<void> waits;
  auto sender = std::async(std::launch::async, [&] {
    waits.set_value();
    return send_until_failure(*link.client);
  });
  waits.get_future().wait();
  link.client->shut_down();
  EXPECT_EQ(sender.get().code(), Code::connection_lost);
}

TEST_P(StreamEnd, PollingWithoutWaitingHearsOfTheEnd) {
  Link link(GetParam());
  // This ends the stream without a close notice, like a killed process.
  ASSERT_EQ(::shutdown(link.server->descriptor(), SHUT_RDWR), 0);
  std::byte byte{};
  Status status;
  const Deadline end = test_deadline();
  while (status.ok() && Clock::now() < end) status = try_receive(*link.client, {&byte, 1}).status();
  EXPECT_EQ(status.code(), Code::connection_lost);
}

TEST_P(StreamEnd, OneConnectionsEndLeavesOthersAlone) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  Pair first = connect_to(*listener, GetParam());
  Pair second = connect_to(*listener, GetParam());
  first.client.reset();
  first.server->shut_down();
  EXPECT_TRUE(talks(*second.client, *second.server));
}

TEST_P(StreamEnd, StreamsOutliveTheirListener) {
  Link link(GetParam());
  link.listener.reset();
  EXPECT_TRUE(talks(*link.client, *link.server));
}

INSTANTIATE_TEST_SUITE_P(Every, StreamEnd, ::testing::ValuesIn(kinds()), name);

}  // namespace
}  // namespace ob::transport::test
