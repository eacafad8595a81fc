#include "transport/shm/ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/random.hpp"

namespace ob::transport::shm {
namespace {

/// A ring with poison before and behind it.
struct Ring {
  Ring() : memory(kWall_bytes + kRingBytes + kWall_bytes, kPoison) {}
  bool walls_stand() const {
    for (std::size_t i = 0; i < kWall_bytes; ++i) {
      if (memory[i] != kPoison || memory[kWall_bytes + kRingBytes + i] != kPoison) return false;
    }
    return true;
  }
  static constexpr std::size_t kWall_bytes = 4096;
  static constexpr std::byte kPoison{0xA5};
  RingIndices indices{};
  std::vector<std::byte> memory;
  RingSender sender{indices, memory.data() + kWall_bytes};
  RingReceiver receiver{indices, memory.data() + kWall_bytes};
};

std::size_t send(Ring& ring, std::vector<std::byte>& bytes, int* published = nullptr) {
  const iovec part{bytes.data(), bytes.size()};
  return ring.sender.send(std::span(&part, 1), [&] { published != nullptr && ++*published; });
}

std::size_t receive(Ring& ring, std::vector<std::byte>& bytes) {
  const iovec part{bytes.data(), bytes.size()};
  return ring.receiver.receive(std::span(&part, 1), [] {});
}

TEST(Ring, TakesWhatFitsAndNoMore) {
  Ring ring;
  std::vector<std::byte> bytes(kRingBytes + 1000, std::byte{1});
  EXPECT_EQ(send(ring, bytes), kRingBytes);
  EXPECT_EQ(send(ring, bytes), 0u);
  EXPECT_EQ(ring.sender.room(), 0u);
  EXPECT_EQ(ring.receiver.available(), kRingBytes);
  std::vector<std::byte> some(10);
  EXPECT_EQ(receive(ring, some), 10u);
  EXPECT_EQ(send(ring, bytes), 10u);
  EXPECT_TRUE(ring.walls_stand());
}

TEST(Ring, PublishesLongTransfersInChunks) {
  Ring ring;
  int published = 0;
  std::vector<std::byte> bytes(3 * kChunkBytes + 1);
  EXPECT_EQ(send(ring, bytes, &published), bytes.size());
  EXPECT_EQ(published, 4);
  published = 0;
  std::vector<std::byte> small(8);
  EXPECT_EQ(send(ring, small, &published), small.size());
  EXPECT_EQ(published, 1);
}

TEST(Ring, CarriesARandomStreamRoundAndRound) {
  auto random = ob::test::fresh_random();
  Ring ring;
  std::vector<std::byte> text(9 * kRingBytes);
  for (std::byte& b : text) b = static_cast<std::byte>(random());
  std::vector<std::byte> out;
  std::size_t in = 0;
  while (out.size() < text.size()) {
    const std::size_t want =
        std::min(text.size() - in, ob::test::uniform<std::size_t>(random, 0, kRingBytes));
    std::vector<std::byte> piece(text.begin() + static_cast<std::ptrdiff_t>(in),
                                 text.begin() + static_cast<std::ptrdiff_t>(in + want));
    const std::size_t sent = send(ring, piece);
    ASSERT_LE(sent, want);
    in += sent;
    std::vector<std::byte> taken(ob::test::uniform<std::size_t>(random, 0, kRingBytes));
    const std::size_t received = receive(ring, taken);
    ASSERT_EQ(received, std::min(taken.size(), in - out.size()));
    out.insert(out.end(), taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(received));
  }
  EXPECT_TRUE(out == text);
  EXPECT_TRUE(ring.walls_stand());
}

TEST(Ring, AnImpossibleHeadIsFoundAndNothingIsTouched) {
  for (const std::uint64_t wrong :
       {std::uint64_t{kRingBytes} + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    Ring ring;
    std::vector<std::byte> bytes(100, std::byte{3});
    ring.indices.head.store(wrong);
    EXPECT_EQ(ring.receiver.available(), kCorrupt);
    EXPECT_EQ(receive(ring, bytes), kCorrupt);
    EXPECT_EQ(bytes, std::vector<std::byte>(100, std::byte{3}));
  }
}

TEST(Ring, AnImpossibleTailIsFoundAndNothingIsTouched) {
  for (const std::uint64_t wrong : {std::uint64_t{kRingBytes} + 1, std::uint64_t{1} << 63}) {
    Ring ring;
    ring.indices.tail.store(wrong);
    EXPECT_EQ(ring.sender.room(), kCorrupt);
    std::vector<std::byte> much(kRingBytes + 1);
    EXPECT_EQ(send(ring, much), kCorrupt);
    EXPECT_TRUE(ring.walls_stand());
  }
}

TEST(Ring, AnIndexThatRunsBackwardsIsFound) {
  Ring ring;
  std::vector<std::byte> bytes(100);
  EXPECT_EQ(send(ring, bytes), 100u);
  EXPECT_EQ(receive(ring, bytes), 100u);
  ring.indices.head.store(99);
  EXPECT_EQ(receive(ring, bytes), kCorrupt);
}

TEST(Ring, OurOwnIndicesAreNotReadBack) {
  Ring ring;
  std::vector<std::byte> bytes(100, std::byte{7});
  ring.indices.head.store(12345);  // written by the sender itself
  EXPECT_EQ(send(ring, bytes), 100u);
  EXPECT_EQ(ring.indices.head.load(), 100u);
  ring.indices.tail.store(50);  // written by the receiver itself
  std::vector<std::byte> taken(200);
  EXPECT_EQ(receive(ring, taken), 100u);
  EXPECT_EQ(ring.indices.tail.load(), 100u);
}

}  // namespace
}  // namespace ob::transport::shm
