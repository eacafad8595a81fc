// Random messages are sent in both directions at once over either transport. Their payloads are cut
// into pieces of every size.

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include "session/message_receiver.hpp"
#include "session/message_sender.hpp"
#include "support/random.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"

namespace ob::session {
namespace {

using test::Bytes;
using test::require;
using test::Transport;

transport::Deadline deadline() { return transport::Clock::now() + std::chrono::seconds(60); }

// Two connected streams.
struct Pair {
  explicit Pair(Transport transport) {
    listener = require(transport::listen(
        transport == Transport::tcp ? "127.0.0.1:0" : "unix:" + folder.file("socket")));
    std::thread connecting(
        [&] { a = require(transport::connect(listener->address(), deadline())); });
    b = require(listener->accept(deadline()));
    connecting.join();
  }
  const test::TemporaryFolder folder;
  std::unique_ptr<transport::Listener> listener;
  std::unique_ptr<transport::Stream> a;
  std::unique_ptr<transport::Stream> b;
};

// The memory of one operand and the layout that lists its elements.
struct Piecewise {
  Bytes memory;
  Layout layout;
};

std::byte pattern(std::uint64_t i, std::uint64_t salt) {
  return static_cast<std::byte>((i * 2654435761u + salt * 40503u) >> 7);
}

// A message's shape follows from its salt, so that both sides know it.
Region region_of(std::uint64_t salt) {
  std::mt19937_64 random(salt);
  const bool large = salt % 9 == 0;
  Region region;
  region.element_bytes = std::array<std::uint32_t, 4>{1, 4, 8, 16}[random() % 4];
  region.triangle = static_cast<Triangle>(random() % 5);
  region.rows = 1 + random() % (large ? 1500 : 40);
  region.cols = 1 + random() % (large ? 300 : 40);
  region.ld = region.rows + random() % 3;
  region.offset_bytes = random() % 5;
  return region;
}

Piecewise place(std::uint64_t salt, std::uint64_t padding) {
  Region region = region_of(salt);
  region.ld += padding;
  Piecewise p;
  p.memory.assign(region.offset_bytes + extent_bytes(region) + 16, std::byte{0xA5});
  p.layout = Layout::matrix(p.memory.data(), region);
  return p;
}

// Fills the listed elements, one cursor piece after another.
void fill(Piecewise& p, std::uint64_t salt) {
  std::uint64_t at = 0;
  for (Layout::Cursor cursor(p.layout); !cursor.done();) {
    cursor.piece()[0] = pattern(at++, salt);
    cursor.advance(1);
  }
}

// Reverses every word of the listed elements; pieces are whole words.
void reverse_words(Piecewise& p, std::uint32_t word_bytes) {
  for (Layout::Cursor cursor(p.layout); !cursor.done(); cursor.advance(word_bytes)) {
    const auto word = cursor.piece().first(word_bytes);
    std::reverse(word.begin(), word.end());
  }
}

class Waiter final : public SendWaiter {
 public:
  explicit Waiter(std::function<Status()> wait) : wait_(std::move(wait)) {}
  Status wait_to_send() override { return wait_(); }

 private:
  std::function<Status()> wait_;
};

wire::Header header_of(std::uint64_t salt) {
  return {.opcode = wire::Opcode::write, .queue = QueueId{salt}, .sequence = salt * 3};
}

void send_all(transport::Stream& stream, std::uint64_t first, std::uint64_t count) {
  Waiter waiter([&] { return stream.wait(false, true, deadline()); });
  MessageSender sender(stream, waiter);
  for (std::uint64_t salt = first; salt < first + count; ++salt) {
    Piecewise p = place(salt, salt % 4);
    fill(p, salt);
    const Bytes body(8 * (1 + salt % 500), pattern(1, salt));
    const Status status = salt % 7 == 0 ? sender.send(header_of(salt), body)
                                        : sender.send(header_of(salt), body, p.layout);
    ASSERT_TRUE(status.ok()) << status.message();
    if (salt % 5 == 0) {
      ASSERT_TRUE(sender.flush().ok());
    }
  }
  ASSERT_TRUE(sender.flush().ok());
}

Message next(MessageReceiver& receiver, transport::Stream& stream) {
  for (;;) {
    auto message = require(receiver.poll());
    if (message) return *message;
    if (!stream.wait(true, false, deadline()).ok()) std::abort();
  }
}

enum class Peer { same_byte_order, other_byte_order };

void receive_all(transport::Stream& stream, std::uint64_t first, std::uint64_t count,
                 Peer peer = Peer::same_byte_order) {
  MessageReceiver receiver(stream);
  for (std::uint64_t salt = first; salt < first + count; ++salt) {
    const Message message = next(receiver, stream);
    ASSERT_EQ(message.header.sequence, salt * 3);
    ASSERT_EQ(Bytes(message.body.begin(), message.body.end()),
              Bytes(8 * (1 + salt % 500), pattern(1, salt)));
    if (salt % 7 == 0) {
      ASSERT_EQ(receiver.payload_left(), 0u);
      continue;
    }
    const bool drop = salt % 11 == 0;
    Piecewise expected = place(salt, salt % 3);  // cut in another way than at the sender
    Piecewise got = expected;
    got.layout = place(salt, salt % 3).layout;
    Region region = region_of(salt);
    region.ld += salt % 3;
    got.layout = Layout::matrix(got.memory.data(), region);
    expected.layout = Layout::matrix(expected.memory.data(), region);
    fill(expected, salt);
    const std::uint32_t word_bytes =
        peer == Peer::other_byte_order ? std::min<std::uint32_t>(region.element_bytes, 8) : 1;
    if (word_bytes > 1) reverse_words(expected, word_bytes);
    ASSERT_EQ(message.header.payload_bytes, got.layout.total_bytes());
    Layout::Cursor cursor(got.layout);
    while (
        !require(drop ? receiver.discard_payload() : receiver.poll_payload(cursor, word_bytes))) {
      ASSERT_TRUE(stream.wait(true, false, deadline()).ok());
    }
    if (!drop) {
      // poison between elements, too
      ASSERT_TRUE(got.memory == expected.memory) << "salt " << salt;
    }
  }
  EXPECT_TRUE(receiver.idle());
}

class MessagesTest : public testing::TestWithParam<Transport> {};

TEST_P(MessagesTest, RandomMessagesBothWaysAtOnce) {
  auto random = test::fresh_random();
  const std::uint64_t first = random() % 1'000'000 + 1;
  Pair pair(GetParam());
  std::thread one([&] { send_all(*pair.a, first, 300); });
  std::thread two([&] { send_all(*pair.b, first + 5000, 300); });
  std::thread three([&] { receive_all(*pair.a, first + 5000, 300); });
  receive_all(*pair.b, first, 300);
  one.join();
  two.join();
  three.join();
}

TEST_P(MessagesTest, ElementsOfTheOtherByteOrderAreSwapped) {
  auto random = test::fresh_random();
  const std::uint64_t first = random() % 1'000'000 + 1;
  Pair pair(GetParam());
  std::thread sending([&] { send_all(*pair.a, first, 300); });
  receive_all(*pair.b, first, 300, Peer::other_byte_order);
  sending.join();
}

TEST_P(MessagesTest, AWordThatArrivesInPartsIsOneWord) {
  Pair pair(GetParam());
  wire::Header header = header_of(4);
  header.payload_bytes = 40;
  Bytes bytes(wire::kHeaderBytes + 40);
  wire::encode_header(header,
                      std::span<std::byte, wire::kHeaderBytes>(bytes.data(), wire::kHeaderBytes));
  for (std::size_t i = 0; i < 40; ++i) bytes[wire::kHeaderBytes + i] = pattern(i, 4);
  MessageReceiver receiver(*pair.b);
  for (const std::uint32_t word_bytes : {2u, 4u, 8u}) {
    for (std::size_t cut = wire::kHeaderBytes; cut < bytes.size(); ++cut) {
      Bytes payload(42, std::byte{0xA5});
      const Layout layout = Layout::bytes(payload.data() + 1, 40);
      Layout::Cursor cursor(layout);
      bool complete = false;
      for (const auto [from, to] : {std::pair{std::size_t{0}, cut}, {cut, bytes.size()}}) {
        const iovec part{bytes.data() + from, to - from};
        ASSERT_EQ(require(pair.a->try_send({&part, 1})), to - from);
        ASSERT_TRUE(pair.b->wait(true, false, deadline()).ok());
        if (from == 0) {
          ASSERT_TRUE(require(receiver.poll()));
        }
        complete = require(receiver.poll_payload(cursor, word_bytes));
      }
      ASSERT_TRUE(complete);
      Bytes expected(42, std::byte{0xA5});
      for (std::size_t i = 0; i < 40; ++i) {
        expected[1 + i / word_bytes * word_bytes + word_bytes - 1 - i % word_bytes] = pattern(i, 4);
      }
      ASSERT_EQ(payload, expected) << "cut at " << cut << ", words of " << word_bytes;
    }
  }
}

TEST_P(MessagesTest, BytesThatTrickleInMakeTheSameMessages) {
  Pair pair(GetParam());
  wire::Header header = header_of(4);
  header.body_bytes = 4096;
  header.payload_bytes = 100;
  Bytes bytes(wire::kHeaderBytes + 4096 + 100, std::byte{7});
  wire::encode_header(header,
                      std::span<std::byte, wire::kHeaderBytes>(bytes.data(), wire::kHeaderBytes));
  MessageReceiver receiver(*pair.b);
  Bytes payload(100, std::byte{0xA5});
  const Layout layout = Layout::bytes(payload.data(), payload.size());
  for (int round = 0; round < 80; ++round) {  // the buffer wraps in this loop
    std::optional<Message> message;
    bool complete = false;
    std::optional<Layout::Cursor> cursor;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n =
          std::min<std::size_t>(bytes.size() - at, 1 + static_cast<std::size_t>(round) * 13);
      const iovec part{bytes.data() + at, n};
      ASSERT_EQ(require(pair.a->try_send({&part, 1})), n);
      at += n;
      ASSERT_TRUE(pair.b->wait(true, false, deadline()).ok());
      if (!message) message = require(receiver.poll());
      if (!message) continue;
      if (!cursor) cursor.emplace(layout);
      complete = require(receiver.poll_payload(*cursor));
    }
    while (!complete) complete = require(receiver.poll_payload(*cursor));
    ASSERT_EQ(message->header.body_bytes, 4096u);
    ASSERT_EQ(payload, Bytes(100, std::byte{7}));
  }
}

// The receiver takes nothing until the sender has no room, and some messages left in parts.
TEST_P(MessagesTest, AFlushThatDoesNotWaitKeepsTheRestInOrder) {
  Pair pair(GetParam());
  Waiter waiter([] { return Status(Code::internal, "try_flush() waited"); });
  MessageSender sender(*pair.a, waiter);
  MessageReceiver receiver(*pair.b);
  const Bytes body(4088, std::byte{7});
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (int round = 0; round < 5; ++round) {
    bool empty = true;
    while (empty) {
      ASSERT_TRUE(sender.send({.opcode = wire::Opcode::write, .sequence = ++sent}, body).ok());
      empty = require(sender.try_flush());
    }
    while (received < sent) {
      const auto message = require(receiver.poll());
      if (!message) (void)require(sender.try_flush());
      if (!message) continue;
      ASSERT_EQ(message->header.sequence, ++received);
      ASSERT_EQ(Bytes(message->body.begin(), message->body.end()), body);
    }
    ASSERT_TRUE(require(sender.try_flush()));
  }
}

TEST_P(MessagesTest, MalformedHeadersAreProtocolErrors) {
  Pair pair(GetParam());
  Bytes garbage(wire::kHeaderBytes, std::byte{0xEE});
  const iovec part{garbage.data(), garbage.size()};
  ASSERT_TRUE(pair.a->try_send({&part, 1}).ok());
  ASSERT_TRUE(pair.b->wait(true, false, deadline()).ok());
  MessageReceiver receiver(*pair.b);
  EXPECT_EQ(receiver.poll().status().code(), Code::protocol_error);
}

TEST_P(MessagesTest, ALostPeerEndsBothSides) {
  Pair pair(GetParam());
  Waiter waiter([&] { return pair.a->wait(false, true, deadline()); });
  MessageSender sender(*pair.a, waiter);
  Bytes large(64 << 20);
  pair.b.reset();
  const Status status = sender.send(header_of(1), {}, Layout::bytes(large.data(), large.size()));
  EXPECT_EQ(status.code(), Code::connection_lost);
  MessageReceiver receiver(*pair.a);
  EXPECT_EQ(receiver.poll().status().code(), Code::connection_lost);
}

INSTANTIATE_TEST_SUITE_P(over, MessagesTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

}  // namespace
}  // namespace ob::session
