// A client of the other byte order. The daemon swaps the words that the client writes, and sends
// elements unswapped when the client reads.

#include <algorithm>

#include "support/random.hpp"
#include "support/raw_client.hpp"
#include "wire/byte_swap.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{5};
constexpr BufferId kBuffer{9};
constexpr std::uint64_t kBufferBytes = std::uint64_t{3} << 20;

class ByteOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    wire::Hello hello;
    hello.big_endian = 1 - wire::kBigEndian;
    client.shake_hands(hello);
    client.command(Opcode::create_queue, kQueue);
    client.command(Opcode::allocate, {}, wire::Allocate{kBuffer, kBufferBytes});
  }
  void write(const Region& region, const Bytes& payload) {
    client.command(Opcode::write, kQueue, wire::Write{kBuffer, region}, payload);
  }
  Received read(const Region& region) {
    client.command(Opcode::read, kQueue, wire::Read{kBuffer, region});
    return client.answer();
  }

  InProcessDaemon daemon{Transport::tcp, one(null_device())};
  RawClient client{daemon.address()};
};

TEST_F(ByteOrderTest, WordsOfEverySizeAreSwappedAsTheyArrive) {
  auto random = fresh_random();
  for (const std::uint8_t word_bytes : {1, 2, 4, 8}) {
    for (int round = 0; round < 20; ++round) {
      Region region;
      region.word_bytes = word_bytes;
      region.element_bytes = word_bytes * uniform<std::uint32_t>(random, 1, 2);
      region.triangle = static_cast<Triangle>(random() % 5);
      region.rows = uniform<std::uint64_t>(random, 1, 300);
      region.cols = uniform<std::uint64_t>(random, 1, 300);
      region.ld = region.rows + random() % 3;
      region.offset_bytes = random() % 100;
      Bytes sent(packed_bytes(region));
      for (std::byte& byte : sent) byte = static_cast<std::byte>(random());
      Bytes swapped = sent;
      for (std::size_t i = 0; i < swapped.size(); i += word_bytes) {
        std::reverse(swapped.data() + i, swapped.data() + i + word_bytes);
      }
      write(region, sent);
      const Received data = read(region);
      ASSERT_EQ(data.as<wire::Outcome>().code, Code::ok);
      ASSERT_TRUE(data.payload == swapped) << "words of " << int{word_bytes};
    }
  }
}

TEST_F(ByteOrderTest, AFillIsSwappedLikeTheElementsOfAWrite) {
  auto random = fresh_random();
  for (const std::uint32_t element_bytes : {1, 2, 4, 8, 16}) {
    for (std::uint8_t word_bytes = 1; word_bytes <= std::min(element_bytes, 8u); word_bytes *= 2) {
      const Region region{
          .element_bytes = element_bytes, .rows = 3, .cols = 2, .ld = 4, .word_bytes = word_bytes};
      wire::Fill fill{kBuffer, region, {}};
      Bytes element(element_bytes);
      for (std::byte& byte : element) byte = static_cast<std::byte>(random());
      std::copy(element.begin(), element.end(), fill.element.begin());
      client.command(Opcode::fill, kQueue, fill);
      for (std::size_t i = 0; i < element.size(); i += word_bytes) {
        std::reverse(element.data() + i, element.data() + i + word_bytes);
      }
      Bytes expected;
      for (int i = 0; i < 6; ++i) expected.insert(expected.end(), element.begin(), element.end());
      const Received data = read(region);
      ASSERT_EQ(data.as<wire::Outcome>().code, Code::ok);
      EXPECT_TRUE(data.payload == expected) << element_bytes << ", words of " << int{word_bytes};
    }
  }
  client.command(Opcode::fill, kQueue,
                 wire::Fill{kBuffer, {.element_bytes = 8, .rows = 1, .cols = 1, .ld = 1}, {}});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
}

TEST_F(ByteOrderTest, ARegionThatDoesNotSayItsWordsFailsItsQueue) {
  const Region region{.element_bytes = 8, .rows = 10, .cols = 1, .ld = 10};
  write(region, Bytes(80));
  const wire::Outcome written = client.synchronize(kQueue);
  EXPECT_EQ(written.code, Code::invalid_argument);
  EXPECT_NE(written.message.find("word_bytes"), std::string::npos);
  const Received data = read(region);
  EXPECT_EQ(data.as<wire::Outcome>().code, Code::invalid_argument);
  EXPECT_TRUE(data.payload.empty());
  EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);  // the connection still works
}

}  // namespace
}  // namespace ob::test
