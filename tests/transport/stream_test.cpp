// Tests of byte transfers over every kind of stream.

#include <climits>
#include <thread>

#include "support/random.hpp"
#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

using Random = std::mt19937_64;

constexpr std::byte kPoison{0xA5};

std::vector<std::byte> random_bytes(Random& random, std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Cuts [0, size) into random pieces, some empty, some one byte, some large.
std::vector<std::size_t> random_cuts(Random& random, std::size_t size_bytes) {
  static constexpr std::size_t kLargest[] = {1, 64, 5000, 300'000, 3'000'000};
  std::vector<std::size_t> pieces;
  while (size_bytes != 0) {
    const std::size_t largest = kLargest[ob::test::uniform(random, 0, 4)];
    const std::size_t piece =
        std::min(size_bytes, ob::test::uniform<std::size_t>(random, 0, largest));
    pieces.push_back(piece);
    size_bytes -= piece;
  }
  return pieces;
}

/// Bytes that are sent from or received into scattered memory, with poison between the pieces.
class Scattered {
 public:
  Scattered(Random& random, std::size_t size_bytes) : pieces_(random_cuts(random, size_bytes)) {
    for (const std::size_t piece : pieces_) {
      offsets_.push_back(memory_.size() + kGap_bytes);
      memory_.resize(memory_.size() + kGap_bytes + piece, kPoison);
    }
    memory_.resize(memory_.size() + kGap_bytes, kPoison);
    remaining_.reserve(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      remaining_.push_back({&memory_[offsets_[i]], pieces_[i]});
  }

  void fill(std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < pieces_.size(); bytes = bytes.subspan(pieces_[i++])) {
      std::memcpy(&memory_[offsets_[i]], bytes.data(), pieces_[i]);
    }
  }

  std::vector<std::byte> gathered() const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const auto first = memory_.begin() + static_cast<std::ptrdiff_t>(offsets_[i]);
      all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(pieces_[i]));
    }
    return all;
  }

  bool gaps_untouched() const {
    std::size_t from = 0;
    for (std::size_t i = 0; i <= pieces_.size(); ++i) {
      const std::size_t to = i < pieces_.size() ? offsets_[i] : memory_.size();
      for (; from < to; ++from) {
        if (memory_[from] != kPoison) return false;
      }
      if (i < pieces_.size()) from = offsets_[i] + pieces_[i];
    }
    return true;
  }

  bool done() const { return first_ == remaining_.size(); }
  /// Returns a random number of the remaining parts.
  std::span<const iovec> some(Random& random) const {
    const std::size_t left = remaining_.size() - first_;
    return std::span(remaining_).subspan(first_, ob::test::uniform<std::size_t>(random, 1, left));
  }
  void advance(std::size_t size_bytes) {
    while (first_ != remaining_.size() && (size_bytes != 0 || remaining_[first_].iov_len == 0)) {
      iovec& at = remaining_[first_];
      const std::size_t step = std::min(size_bytes, at.iov_len);
      at.iov_base = static_cast<std::byte*>(at.iov_base) + step;
      at.iov_len -= step;
      size_bytes -= step;
      if (at.iov_len == 0) ++first_;
    }
    ASSERT_EQ(size_bytes, 0u) << "more bytes than were asked for";
  }

 private:
  static constexpr std::size_t kGap_bytes = 16;
  std::vector<std::size_t> pieces_;
  std::vector<std::size_t> offsets_;
  std::vector<std::byte> memory_;
  std::vector<iovec> remaining_;
  std::size_t first_ = 0;
};

/// Drives both directions of one end in one thread.
Status exchange(Stream& stream, Scattered& out, Scattered& in, Random random) {
  while (!out.done() || !in.done()) {
    std::size_t moved = 0;
    if (!out.done()) {
      OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send(out.some(random)));
      out.advance(sent);
      moved += sent;
    }
    if (!in.done()) {
      OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive(in.some(random)));
      in.advance(received);
      moved += received;
    }
    if (moved == 0) OB_RETURN_IF_ERROR(stream.wait(!in.done(), !out.done(), test_deadline()));
  }
  return {};
}

Status send_only(Stream& stream, Scattered& out, Random random) {
  while (!out.done()) {
    OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send(out.some(random)));
    out.advance(sent);
    if (sent == 0) OB_RETURN_IF_ERROR(stream.wait(false, true, test_deadline()));
  }
  return {};
}

Status receive_only(Stream& stream, Scattered& in, Random random) {
  while (!in.done()) {
    OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive(in.some(random)));
    in.advance(received);
    if (received == 0) OB_RETURN_IF_ERROR(stream.wait(true, false, test_deadline()));
  }
  return {};
}

/// Two random texts that are exchanged, and the results.
struct Exchange {
  explicit Exchange(Random& random)
      : up(random_bytes(random, ob::test::uniform<std::size_t>(random, 1, 12'000'000))),
        down(random_bytes(random, ob::test::uniform<std::size_t>(random, 1, 12'000'000))),
        up_out(random, up.size()),
        up_in(random, up.size()),
        down_out(random, down.size()),
        down_in(random, down.size()) {
    up_out.fill(up);
    down_out.fill(down);
  }
  void check() const {
    EXPECT_TRUE(up_in.gathered() == up);
    EXPECT_TRUE(down_in.gathered() == down);
    EXPECT_TRUE(up_in.gaps_untouched());
    EXPECT_TRUE(down_in.gaps_untouched());
  }
  std::vector<std::byte> up, down;
  Scattered up_out, up_in, down_out, down_in;
};

class StreamBytes : public ::testing::TestWithParam<Kind> {};

TEST_P(StreamBytes, ArriveInOrderBothWaysAtOnceWithOneThreadOnEachSide) {
  Random random = ob::test::fresh_random();
  Link link(GetParam());
  for (int round = 0; round < 3; ++round) {
    Exchange bytes(random);
    auto server = std::async(std::launch::async, [&, seed = random()] {
      return exchange(*link.server, bytes.down_out, bytes.up_in, Random(seed));
    });
    const Status client = exchange(*link.client, bytes.up_out, bytes.down_in, Random(random()));
    EXPECT_TRUE(client.ok()) << client.message();
    const Status status = server.get();
    EXPECT_TRUE(status.ok()) << status.message();
    bytes.check();
  }
}

TEST_P(StreamBytes, ArriveInOrderWithASenderAndAReceiverThreadOnEachSide) {
  Random random = ob::test::fresh_random();
  Link link(GetParam());
  Exchange bytes(random);
  std::vector<std::future<Status>> workers;
  const auto start = [&](auto work) { workers.push_back(std::async(std::launch::async, work)); };
  start([&, seed = random()] { return send_only(*link.client, bytes.up_out, Random(seed)); });
  start([&, seed = random()] { return receive_only(*link.client, bytes.down_in, Random(seed)); });
  start([&, seed = random()] { return send_only(*link.server, bytes.down_out, Random(seed)); });
  start([&, seed = random()] { return receive_only(*link.server, bytes.up_in, Random(seed)); });
  for (auto& worker : workers) {
    const Status status = worker.get();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  bytes.check();
}

TEST_P(StreamBytes, SmallMessagesPassToAndFroBetweenSleepers) {
  Link link(GetParam());
  constexpr int kRounds = 20'000;
  auto server = std::async(std::launch::async, [&] {
    std::uint64_t value = 0;
    for (int i = 0; i < kRounds; ++i) {
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      if (!receive_all(*link.server, bytes).ok()) return false;
      value = ~value;
      if (!send_all(*link.server, bytes).ok()) return false;
    }
    return true;
  });
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    std::uint64_t value = i * 0x9E3779B97F4A7C15u;
    const std::uint64_t sent = value;
    ASSERT_TRUE(send_all(*link.client, std::as_bytes(std::span(&value, 1))).ok());
    ASSERT_TRUE(receive_all(*link.client, std::as_writable_bytes(std::span(&value, 1))).ok());
    ASSERT_EQ(value, ~sent) << "round " << i;
  }
  EXPECT_TRUE(server.get());
}

TEST_P(StreamBytes, AreHeldBackWhileNobodyReceives) {
  Random random = ob::test::fresh_random();
  Link link(GetParam());
  constexpr std::size_t kBound_bytes = 256u << 20;  // larger than any socket buffer
  const auto text = random_bytes(random, 1 << 20);
  std::size_t sent = 0;
  Status status;
  while (status.ok() && sent < kBound_bytes) {
    const auto at = std::span<const std::byte>(text).subspan(sent % text.size());
    auto accepted = try_send(*link.client, at);
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    ASSERT_LE(*accepted, at.size());
    sent += *accepted;
    if (*accepted == 0) status = link.client->wait(false, true, soon());
  }
  EXPECT_EQ(status.code(), Code::deadline_exceeded) << "the sender was never stopped";
  EXPECT_GT(sent, 0u);
  // All accepted bytes arrive, and then there is room again.
  std::vector<std::byte> received(sent, kPoison);
  ASSERT_TRUE(receive_all(*link.server, received).ok());
  for (std::size_t i = 0; i < sent; ++i)
    ASSERT_EQ(received[i], text[i % text.size()]) << "byte " << i;
  EXPECT_TRUE(link.client->wait(false, true, test_deadline()).ok());
  EXPECT_TRUE(talks(*link.client, *link.server));
}

TEST_P(StreamBytes, WaitingSenderIsWokenByTheReceiver) {
  Link link(GetParam());
  const std::vector<std::byte> text(64 << 20, std::byte{7});
  auto sender = std::async(std::launch::async, [&] { return send_all(*link.client, text); });
  // The sender waits: the receiver starts only when the sender can send no more.
  EXPECT_EQ(sender.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  std::vector<std::byte> received(text.size(), kPoison);
  EXPECT_TRUE(receive_all(*link.server, received).ok());
  EXPECT_TRUE(sender.get().ok());
  EXPECT_TRUE(received == text);
}

TEST_P(StreamBytes, NothingToMoveMovesNothing) {
  Link link(GetParam());
  std::byte poisoned = kPoison;
  const std::vector<iovec> empty(3000, iovec{&poisoned, 0});
  for (const auto parts : {std::span<const iovec>(), std::span<const iovec>(empty)}) {
    const auto sent = link.client->try_send(parts);
    ASSERT_TRUE(sent.ok());
    EXPECT_EQ(*sent, 0u);
    const auto received = link.client->try_receive(parts);
    ASSERT_TRUE(received.ok()) << received.status().message();
    EXPECT_EQ(*received, 0u);
  }
  EXPECT_EQ(*try_receive(*link.server, std::span(&poisoned, 1)), 0u);
  EXPECT_EQ(poisoned, kPoison);
  EXPECT_TRUE(talks(*link.client, *link.server));
}

TEST_P(StreamBytes, MorePartsThanOneCallTakes) {
  Link link(GetParam());
  constexpr std::size_t kParts = 3 * IOV_MAX;
  std::vector<std::byte> source(kParts);
  for (std::size_t i = 0; i < kParts; ++i) source[i] = static_cast<std::byte>(i * 7);
  std::vector<iovec> parts;
  for (std::size_t i = 0; i < kParts; ++i) parts.push_back({&source[i], 1});
  std::span<const iovec> left(parts);
  while (!left.empty()) {
    const auto sent = link.client->try_send(left);
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    left = left.subspan(*sent);
  }
  std::vector<std::byte> received(kParts, kPoison);
  ASSERT_TRUE(receive_all(*link.server, received).ok());
  EXPECT_TRUE(received == source);
}

TEST_P(StreamBytes, DeadlineEndsAWait) {
  Link link(GetParam());
  EXPECT_EQ(link.client->wait(true, false, soon()).code(), Code::deadline_exceeded);
  EXPECT_EQ(link.client->wait(true, false, Deadline::min()).code(), Code::deadline_exceeded);
  EXPECT_EQ(link.client->wait(false, false, soon()).code(), Code::deadline_exceeded);
  EXPECT_TRUE(link.client->wait(true, true, soon()).ok());
  EXPECT_TRUE(talks(*link.client, *link.server));
}

TEST_P(StreamBytes, AWaitThatCanGoOnDoesNotMindAPastDeadline) {
  Link link(GetParam());
  ASSERT_TRUE(send_all(*link.server, bytes_of("x")).ok());
  ASSERT_TRUE(link.client->wait(true, false, Deadline::max()).ok());
  EXPECT_TRUE(link.client->wait(true, false, Deadline::min()).ok());
  EXPECT_TRUE(link.client->wait(false, true, Deadline::min()).ok());
}

TEST_P(StreamBytes, ManyConnectionsAtOnceDoNotMix) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  std::vector<Pair> pairs;
  for (int i = 0; i < 100; ++i) pairs.push_back(connect_to(*listener, GetParam()));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_TRUE(send_all(*pairs[i].client, bytes_of("up " + std::to_string(1000 + i))).ok());
    ASSERT_TRUE(send_all(*pairs[i].server, bytes_of("dn " + std::to_string(2000 + i))).ok());
  }
  for (std::size_t i = pairs.size(); i-- > 0;) {
    std::vector<std::byte> heard(7);
    ASSERT_TRUE(receive_all(*pairs[i].server, heard).ok());
    EXPECT_EQ(heard, bytes_of("up " + std::to_string(1000 + i)));
    ASSERT_TRUE(receive_all(*pairs[i].client, heard).ok());
    EXPECT_EQ(heard, bytes_of("dn " + std::to_string(2000 + i)));
  }
}

TEST_P(StreamBytes, PeersAreNamed) {
  Link link(GetParam());
  if (GetParam() != Kind::shm) {
    const std::size_t streams = streams_of(GetParam());
    const std::string suffix = streams == 1 ? "" : " (" + std::to_string(streams) + " streams)";
    EXPECT_EQ(link.client->peer(), link.listener->address() + suffix);
    const std::string host = GetParam() == Kind::ucx ? "ucx:127.0.0.1:" : "127.0.0.1:";
    EXPECT_EQ(link.server->peer().rfind(host, 0), 0u) << link.server->peer();
  } else {
    const std::string expected =
        link.listener->address() + " (uid " + std::to_string(::geteuid()) + ")";
    EXPECT_EQ(link.client->peer(), expected);
    EXPECT_EQ(link.server->peer(), expected);
  }
  // A network proves no identity.
  const bool proven = GetParam() == Kind::shm;
  for (const Stream* end : {link.client.get(), link.server.get()}) {
    EXPECT_EQ(end->user(), proven ? "uid " + std::to_string(::geteuid()) : "");
  }
  EXPECT_EQ(link.client->shares_memory(), GetParam() == Kind::shm);
  EXPECT_GE(link.client->descriptor(), 0);
}

INSTANTIATE_TEST_SUITE_P(Every, StreamBytes, ::testing::ValuesIn(kinds()), name);

}  // namespace
}  // namespace ob::transport::test
