// The memory of a server beyond the elements of its blocks, as the allocator counts it.
// Bar: 100 bytes per block, here of up to 100 elements.

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sial/server/server.hpp"
#include "support/temporary_folder.hpp"

namespace ob::sial {
namespace {

constexpr std::uint64_t kBlocks = 200'000;
constexpr double kMostBytes = 100;

struct Ignored final : Exchange {
  void send(Message message) override {
    ++answers;
    failures += message.kind == MessageKind::failure ? 1 : 0;
  }
  std::uint64_t answers = 0, failures = 0;
};

std::uint64_t allocated_bytes() {
  const struct mallinfo2 facts = ::mallinfo2();
  return facts.uordblks + facts.hblkhd;
}

Message about(MessageKind kind, std::uint64_t number, std::int64_t elements) {
  Message message;
  message.kind = kind;
  message.number = number * 7;  // those of one of seven servers
  message.shape.rank = 1;
  message.shape.extents[0] = elements;
  message.factor = 1;
  return message;
}

double bytes_beside_elements(std::uint64_t before, std::int64_t elements) {
  return (static_cast<double>(allocated_bytes()) - static_cast<double>(before)) / kBlocks -
         8.0 * static_cast<double>(elements);
}

// An allocator that watches for errors counts nothing, or more.
bool counts_bytes() {
  const std::uint64_t before = allocated_bytes();
  const std::vector<char> some(1 << 16);
  const std::uint64_t taken = allocated_bytes() - before;
  return taken >= some.size() && taken <= some.size() + 64;
}

class BlockMemoryTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (!counts_bytes()) GTEST_SKIP() << "another allocator";
  }
};

TEST_P(BlockMemoryTest, IsSmallWhileAllBlocksAreTouched) {
  Ignored exchange;
  const std::uint64_t before = allocated_bytes();
  BlockServer server({.rank = 1}, exchange);
  for (std::uint64_t number = 0; number < kBlocks; ++number) {
    server.receive(about(MessageKind::fill, number, GetParam()));
  }
  EXPECT_LE(bytes_beside_elements(before, GetParam()), kMostBytes);
  RecordProperty("bytes", std::to_string(bytes_beside_elements(before, GetParam())));
  // In the next epoch nobody has touched them, except one.
  Message touch = about(MessageKind::add, 0, GetParam());
  touch.epoch = 1;
  server.receive(touch);
  EXPECT_LE(bytes_beside_elements(before, GetParam()), kMostBytes - sizeof(BlockAccesses));
  EXPECT_EQ(exchange.answers, kBlocks + 1);
  EXPECT_EQ(exchange.failures, 0U);
}

// Answers have left when the next one is asked for.
TEST_P(BlockMemoryTest, IsSmallAfterAllBlocksWereLent) {
  Ignored exchange;
  const std::uint64_t before = allocated_bytes();
  BlockServer server({.rank = 1}, exchange);
  for (std::uint64_t number = 0; number < kBlocks; ++number) {
    server.receive(about(MessageKind::fill, number, GetParam()));
    server.receive(about(MessageKind::get, number, GetParam()));
  }
  EXPECT_LE(bytes_beside_elements(before, GetParam()), kMostBytes);
  EXPECT_EQ(exchange.failures, 0U);
}

INSTANTIATE_TEST_SUITE_P(Elements, BlockMemoryTest, testing::Values(1, 3, 16, 100));

TEST(BlockMemory, OfBlocksOnDiskIsSmall) {
  if (!counts_bytes()) GTEST_SKIP() << "another allocator";
  constexpr std::int64_t kElements = 16;
  test::TemporaryFolder folder;
  Ignored exchange;
  const std::uint64_t limit = 1000 * kElements * 8;
  const std::uint64_t before = allocated_bytes();
  BlockServer server(
      {.rank = 1, .memory_bytes = limit, .spill_folder = folder.file("spill"), .workers = 1},
      exchange);
  for (std::uint64_t number = 0; number < kBlocks; ++number) {
    server.receive(about(MessageKind::fill, number, kElements));
  }
  const double resident = 8.0 * kElements;  // bytes_beside_elements() takes all blocks for that
  EXPECT_LE(bytes_beside_elements(before, kElements) + resident, kMostBytes);
  EXPECT_GT(server.store().traffic().written_bytes, kBlocks / 2 * kElements * 8);
  EXPECT_EQ(exchange.failures, 0U);
}

}  // namespace
}  // namespace ob::sial
