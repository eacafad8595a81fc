#include "base/readable_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

constexpr std::size_t kPage = 4096;

TEST(ReadableMemory, IsCopiedPacked) {
  auto random = test::fresh_random();
  std::vector<double> matrix(120 * 90);
  for (double& x : matrix) x = static_cast<double>(test::uniform<int>(random, -1000000, 1000000));
  const Region part{0, 8, Triangle::upper, 100, 90, 120, 8};
  std::vector<std::byte> packed(packed_bytes(part) + 1, std::byte{0x5a});
  const std::span<std::byte> target(packed.data(), packed.size() - 1);
  ASSERT_TRUE(copy_if_readable(target, Layout::matrix(matrix.data(), part)));
  std::size_t at = 0;
  for (std::size_t j = 0; j < 90; ++j) {
    for (std::size_t i = 0; i <= j; ++i, at += 8) {
      EXPECT_EQ(std::memcmp(&packed[at], &matrix[j * 120 + i], 8), 0) << i << ' ' << j;
    }
  }
  EXPECT_EQ(at, target.size());
  EXPECT_EQ(packed.back(), std::byte{0x5a});
}

TEST(ReadableMemory, IsNotFoundBehindTheEndOfAMapping) {
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(munmap(memory + kPage, kPage), 0);
  std::vector<std::byte> copy(2 * kPage);
  EXPECT_TRUE(copy_if_readable({copy.data(), kPage}, Layout::bytes(memory, kPage)));
  EXPECT_FALSE(copy_if_readable({copy.data(), kPage + 1}, Layout::bytes(memory, kPage + 1)));
  EXPECT_FALSE(copy_if_readable({copy.data(), 8}, Layout::bytes(memory + kPage + 8, 8)));
  EXPECT_TRUE(copy_if_readable({copy.data(), 8}, Layout::bytes(memory + 2 * kPage, 8)));
  ASSERT_EQ(mprotect(memory, kPage, PROT_NONE), 0);
  EXPECT_FALSE(copy_if_readable({copy.data(), 8}, Layout::bytes(memory, 8)));
  munmap(memory, kPage);
  munmap(memory + 2 * kPage, kPage);
}

}  // namespace
}  // namespace ob
