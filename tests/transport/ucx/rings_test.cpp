// Tests the two ends of a channel without UCX between them.

#include <cstring>

#include "support/random.hpp"
#include "transport/link.hpp"
#include "transport/ucx/receive_ring.hpp"
#include "transport/ucx/send_ring.hpp"

namespace ob::transport::ucx {
namespace {

using Random = std::mt19937_64;

/// A piece in flight. Pieces arrive in any order, as in a network with several paths.
struct Flight {
  std::uint64_t offset;
  std::vector<std::byte> data;
  PendingSend* from;
};

TEST(Rings, BytesComeOutInOrderThoughPiecesOvertakeEachOther) {
  Random random = ob::test::fresh_random();
  SendRing out;
  ReceiveRing in;
  std::vector<Flight> flying;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  const auto value = [](std::uint64_t i) { return static_cast<std::byte>(i * 131 >> 3); };
  for (int step = 0; step < 5'000; ++step) {
    const std::span<std::byte> space = out.reserve();
    if (!space.empty() && ob::test::uniform(random, 0, 1) != 0) {
      const auto size = ob::test::uniform<std::size_t>(random, 1, space.size());
      for (std::size_t i = 0; i < size; ++i) space[i] = value(written + i);
      written += size;
      PendingSend& piece = out.commit(size, Token{});
      flying.push_back({piece.header.offset, {piece.data.begin(), piece.data.end()}, &piece});
    }
    if (!flying.empty() && ob::test::uniform(random, 0, 1) != 0) {
      std::swap(flying.back(),
                flying[ob::test::uniform<std::size_t>(random, 0, flying.size() - 1)]);
      Flight landing = std::move(flying.back());
      flying.pop_back();
      ReceiveRing::Piece* const piece = in.expect(landing.offset, landing.data.size());
      ASSERT_NE(piece, nullptr);
      std::memcpy(piece->to, landing.data.data(), landing.data.size());
      piece->operation.done = true;
      landing.from->operation.done = true;
      ASSERT_TRUE(in.settle());
      ASSERT_TRUE(out.settle());
    }
    const std::span<const std::byte> bytes = in.readable();
    const auto taken = ob::test::uniform<std::size_t>(random, 0, bytes.size());
    for (std::size_t i = 0; i < taken; ++i) ASSERT_EQ(bytes[i], value(read + i)) << read + i;
    in.consume(taken);
    read += taken;
    if (ob::test::uniform(random, 0, 9) == 0) {
      ASSERT_TRUE(out.credit(in.consumed()));
    }
    ASSERT_LE(written - read, kRingBytes);
  }
  EXPECT_GT(read, 4 * kRingBytes) << "the rings hardly went round";
}

TEST(Rings, NothingIsSentThatThePeerHasNoRoomFor) {
  SendRing out;
  std::size_t sent = 0;
  while (!out.reserve().empty()) {
    const std::size_t size = out.reserve().size();
    sent += size;
    out.commit(size, Token{}).operation.done = true;
    ASSERT_TRUE(out.settle());
  }
  EXPECT_EQ(sent, kRingBytes);
  ASSERT_TRUE(out.credit(100));
  EXPECT_EQ(out.room(), 100u);
  ASSERT_TRUE(out.credit(50)) << "credits may overtake each other";
  EXPECT_EQ(out.room(), 100u);
  EXPECT_FALSE(out.credit(sent + 1)) << "more than was sent";
}

TEST(Rings, ImpossiblePiecesAreRefused) {
  ReceiveRing in;
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  EXPECT_EQ(in.expect(0, 0), nullptr);
  EXPECT_EQ(in.expect(0, kPieceBytes + 1), nullptr);
  EXPECT_EQ(in.expect(kRingBytes, 1), nullptr) << "beyond the room";
  EXPECT_EQ(in.expect(kRingBytes - 10, 11), nullptr) << "across the end of the memory";
  EXPECT_EQ(in.expect(kFar, 1), nullptr);
  EXPECT_EQ(in.expect(kFar - 10, kPieceBytes), nullptr);
  ASSERT_NE(in.expect(100, 50), nullptr);
  EXPECT_EQ(in.expect(100, 50), nullptr) << "twice";
  EXPECT_EQ(in.expect(149, 1), nullptr) << "over the end of another";
  EXPECT_EQ(in.expect(90, 11), nullptr) << "over the start of another";
  ReceiveRing::Piece* const first = in.expect(0, 100);
  ASSERT_NE(first, nullptr);
  first->operation.done = true;
  ASSERT_TRUE(in.settle());
  EXPECT_EQ(in.readable().size(), 100u);
  EXPECT_EQ(in.expect(50, 10), nullptr) << "again";
}

}  // namespace
}  // namespace ob::transport::ucx
