// Tests of striping itself: the stream that each byte travels on, and the result when one of the
// streams ends. stream_test.cpp and stream_end_test.cpp cover every kind of stream.

#include "transport/striped_stream.hpp"

#include <sys/socket.h>

#include <future>

#include "support/random.hpp"
#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

using Random = std::mt19937_64;

constexpr std::byte kPoison{0xA5};

/// A connection with one striped end. The other end stays the single connections.
struct Opened {
  Opened(std::size_t streams, std::uint32_t block_bytes)
      : listener(require(listen("127.0.0.1:0"))) {
    std::vector<std::unique_ptr<Stream>> others;
    for (std::size_t i = 0; i < streams; ++i) {
      Pair pair = connect_one(*listener);
      if (i == 0) {
        striped = std::make_unique<StripedStream>(std::move(pair.client));
      } else {
        others.push_back(std::move(pair.client));
      }
      peers.push_back(std::move(pair.server));
    }
    striped->stripe(std::move(others), block_bytes);
  }
  std::unique_ptr<Listener> listener;
  std::unique_ptr<StripedStream> striped;
  std::vector<std::unique_ptr<Stream>> peers;
};

std::vector<std::byte> counting(std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  return bytes;
}

/// Returns the bytes of `all` that travel on stream `index`, by the rule of docs/wire.md.
std::vector<std::byte> share(const std::vector<std::byte>& all, std::size_t index,
                             std::size_t streams, std::size_t block_bytes) {
  std::vector<std::byte> bytes;
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (p / block_bytes % streams == index) bytes.push_back(all[p]);
  }
  return bytes;
}

TEST(StripedStream, EachBlockTravelsOnItsStream) {
  for (const std::size_t streams : {2, 3, 16}) {
    for (const std::uint32_t block_bytes : {1u, 7u, 4096u}) {
      Opened link(streams, block_bytes);
      const auto up = counting(5 * streams * block_bytes + 3);
      ASSERT_TRUE(send_all(*link.striped, up).ok());
      for (std::size_t i = 0; i < streams; ++i) {
        const auto expected = share(up, i, streams, block_bytes);
        std::vector<std::byte> heard(expected.size(), kPoison);
        ASSERT_TRUE(receive_all(*link.peers[i], heard).ok());
        EXPECT_TRUE(heard == expected) << streams << " streams, stream " << i;
        EXPECT_EQ(*try_receive(*link.peers[i], heard), 0u) << "more than its share";
      }
      for (std::size_t i = streams; i-- > 0;) {  // the last stream sends first
        ASSERT_TRUE(send_all(*link.peers[i], share(up, i, streams, block_bytes)).ok());
      }
      std::vector<std::byte> heard(up.size(), kPoison);
      ASSERT_TRUE(receive_all(*link.striped, heard).ok());
      EXPECT_TRUE(heard == up);
    }
  }
}

/// Returns random pieces of [done, size) as parts for one call.
std::vector<iovec> some_parts(Random& random, std::span<std::byte> left) {
  std::vector<iovec> parts;
  const auto count = ob::test::uniform<std::size_t>(random, 1, 200);
  for (std::size_t i = 0; i < count && !left.empty(); ++i) {
    const std::size_t size = std::min(left.size(), ob::test::uniform<std::size_t>(random, 0, 90));
    parts.push_back({left.data(), size});
    left = left.subspan(size);
  }
  return parts;
}

Status exchange(Stream& stream, std::vector<std::byte> out, std::span<std::byte> in,
                Random random) {
  std::span<std::byte> to_send(out);
  while (!to_send.empty() || !in.empty()) {
    std::size_t moved = 0;
    if (!to_send.empty()) {
      OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send(some_parts(random, to_send)));
      to_send = to_send.subspan(sent);
      moved += sent;
    }
    if (!in.empty()) {
      OB_ASSIGN_OR_RETURN(const std::size_t got, stream.try_receive(some_parts(random, in)));
      in = in.subspan(got);
      moved += got;
    }
    if (moved == 0) OB_RETURN_IF_ERROR(stream.wait(!in.empty(), !to_send.empty(), test_deadline()));
  }
  return {};
}

TEST(StripedStream, RandomPartsCrossTheEndsOfTinyBlocksBothWaysAtOnce) {
  Random random = ob::test::fresh_random();
  const auto listener = require(listen("127.0.0.1:0"));
  for (int round = 0; round < 12; ++round) {
    const auto streams = ob::test::uniform<std::size_t>(random, 2, 5);
    const auto block_bytes = ob::test::uniform<std::uint32_t>(random, 1, 40);
    const StripedPair pair = connect_striped(*listener, streams, block_bytes);
    std::vector<std::byte> up(ob::test::uniform<std::size_t>(random, 1, 200'000));
    std::vector<std::byte> down(ob::test::uniform<std::size_t>(random, 1, 200'000));
    for (auto* text : {&up, &down}) {
      for (std::byte& b : *text) b = static_cast<std::byte>(random());
    }
    std::vector<std::byte> at_server(up.size(), kPoison);
    std::vector<std::byte> at_client(down.size(), kPoison);
    auto server = std::async(std::launch::async, [&, seed = random()] {
      return exchange(*pair.server, down, at_server, Random(seed));
    });
    const Status client = exchange(*pair.client, up, at_client, Random(random()));
    EXPECT_TRUE(client.ok()) << client.message();
    EXPECT_TRUE(server.get().ok());
    EXPECT_TRUE(at_server == up) << streams << " streams, blocks of " << block_bytes;
    EXPECT_TRUE(at_client == down) << streams << " streams, blocks of " << block_bytes;
  }
}

TEST(StripedStream, BytesBeforeStripingTravelOnTheFirstStream) {
  const auto listener = require(listen("127.0.0.1:0"));
  Pair first = connect_one(*listener);
  Pair second = connect_one(*listener);
  StripedStream client(std::move(first.client));
  StripedStream server(std::move(first.server));
  EXPECT_TRUE(client.can_be_striped());
  EXPECT_EQ(client.peer(), listener->address());
  EXPECT_TRUE(talks(client, server));
  const auto stripe = [](StripedStream& stream, std::unique_ptr<Stream> other) {
    std::vector<std::unique_ptr<Stream>> others;
    others.push_back(std::move(other));
    stream.stripe(std::move(others), 5);
  };
  stripe(client, std::move(second.client));
  ASSERT_TRUE(send_all(client, bytes_of("sent before the other end was striped")).ok());
  stripe(server, std::move(second.server));
  std::vector<std::byte> heard(37);
  ASSERT_TRUE(receive_all(server, heard).ok());
  EXPECT_EQ(heard, bytes_of("sent before the other end was striped"));
  EXPECT_TRUE(talks(client, server));
  EXPECT_FALSE(client.can_be_striped());
}

TEST(StripedStream, TheEndOfAnyStreamIsTheEnd) {
  for (const std::size_t dead : {0, 1, 2}) {
    Opened link(3, 4096);
    std::byte byte{};
    auto receiver = std::async(std::launch::async, [&] {
      return receive_all(*link.striped, {&byte, 1});  // this waits for stream 0
    });
    link.peers[dead].reset();
    EXPECT_EQ(receiver.get().code(), Code::connection_lost) << dead;
    EXPECT_EQ(link.striped->wait(true, false, test_deadline()).code() == Code::ok, dead == 0);
  }
}

TEST(StripedStream, AHeldBackSenderHearsOfTheEndOfAnotherStream) {
  Opened link(3, 1 << 20);
  const std::vector<std::byte> text(64 << 20);
  auto sender = std::async(std::launch::async, [&] { return send_all(*link.striped, text); });
  EXPECT_EQ(sender.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  link.peers[2].reset();
  EXPECT_EQ(sender.get().code(), Code::connection_lost);
}

TEST(StripedStream, LastWordsArriveAlthoughAnotherStreamEndedBefore) {
  Opened link(3, 16);
  link.peers[2].reset();
  link.peers[1].reset();
  auto receiver = std::async(std::launch::async, [&] {
    std::vector<std::byte> heard(7, kPoison);
    const Status status = receive_all(*link.striped, heard);
    return status.ok() ? heard : std::vector<std::byte>();
  });
  // The receiver now waits, and has seen the ends of the other streams.
  EXPECT_EQ(receiver.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  ASSERT_TRUE(send_all(*link.peers[0], bytes_of("refused")).ok());
  EXPECT_EQ(receiver.get(), bytes_of("refused"));
}

TEST(StripedStream, TheEndOfAStreamIsHeardByShortWaitsToo) {
  Opened link(3, 4096);
  link.peers[2].reset();
  Status status;
  for (const Deadline end = test_deadline(); Clock::now() < end;) {
    status = link.striped->wait(true, false, soon());
    if (status.code() != Code::deadline_exceeded) break;
  }
  EXPECT_EQ(status.code(), Code::connection_lost);
}

TEST(StripedStream, EveryDescriptorIsNamedAndWatched) {
  Opened link(3, 4096);
  const Descriptors all = link.striped->descriptors();
  ASSERT_EQ(all.count, 3u);
  EXPECT_EQ(all.numbers[0], link.striped->descriptor());
  for (const int fd : all) EXPECT_GE(fd, 0);
  EXPECT_NE(all.numbers[1], all.numbers[2]);
  EXPECT_TRUE(link.striped->intact());
  ::close(all.numbers[2]);
  EXPECT_FALSE(link.striped->intact());
}

TEST(StripedStream, ShutDownBeforeStripingShutsWhatIsAdded) {
  const auto listener = require(listen("127.0.0.1:0"));
  Pair first = connect_one(*listener);
  Pair second = connect_one(*listener);
  StripedStream striped(std::move(first.client));
  striped.shut_down();
  std::vector<std::unique_ptr<Stream>> others;
  others.push_back(std::move(second.client));
  striped.stripe(std::move(others), 4096);
  std::byte byte{};
  EXPECT_EQ(receive_all(*second.server, {&byte, 1}).code(), Code::connection_lost);
}

TEST(StripedStream, AStreamThatWasGivenAwayGoesOn) {
  const auto listener = require(listen("127.0.0.1:0"));
  Pair pair = connect_one(*listener);
  auto striped = std::make_unique<StripedStream>(std::move(pair.client));
  const std::unique_ptr<Stream> stream = striped->release();
  striped->shut_down();
  striped.reset();
  EXPECT_TRUE(talks(*stream, *pair.server));
}

}  // namespace
}  // namespace ob::transport::test
