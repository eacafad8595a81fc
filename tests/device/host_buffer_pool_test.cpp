#include "device/host_buffer_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "device/host_memory.hpp"

namespace ob {
namespace {

using std::chrono::milliseconds;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr HostBufferPool::Limits kLarge{.capacity_bytes = 64 * kMiB};

std::shared_ptr<HostBuffer> buffer_full_of(std::byte value, std::uint64_t size_bytes) {
  auto buffer = HostBuffer::create(size_bytes).value();
  std::memset(buffer->data(), static_cast<int>(value), size_bytes);
  return buffer;
}

// Waits for the cleaner. Returns nullptr if the buffer does not come back within seconds.
std::shared_ptr<HostBuffer> take_within_seconds(HostBufferPool& pool, std::uint64_t size_bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (auto buffer = pool.take(size_bytes)) return buffer;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return nullptr;
}

bool wait_for_clean_bytes(const HostBufferPool& pool, std::uint64_t bytes) {
  for (int i = 0; i < 2000 && pool.use().clean_bytes < bytes; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  return pool.use().clean_bytes == bytes;
}

bool all_zero(const HostBuffer& buffer) {
  return std::all_of(buffer.data(), buffer.data() + buffer.size_bytes(),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST(HostBufferPoolTest, AFreedBufferComesBackClean) {
  HostBufferPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{0x5a}, 5 * kMiB + 1);
  const HostBuffer* const before = buffer.get();
  EXPECT_TRUE(pool.put(std::move(buffer), UINT64_MAX).empty());
  const auto again = take_within_seconds(pool, 5 * kMiB + 1);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again.get(), before);
  EXPECT_TRUE(all_zero(*again));
  EXPECT_EQ(pool.use().reused, 1u);
  EXPECT_EQ(pool.use().idle_bytes, 0u);
}

TEST(HostBufferPoolTest, MemoryThatAnotherProcessMayHaveMappedIsReplaced) {
  HostBufferPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{0x5a}, 4 * kMiB);
  buffer->mark_exported();
  void* theirs = mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->fd(), 0);
  ASSERT_NE(theirs, MAP_FAILED);
  (void)pool.put(std::move(buffer), UINT64_MAX);
  const auto again = take_within_seconds(pool, 4 * kMiB);
  ASSERT_NE(again, nullptr);
  std::memset(theirs, 0x77, 4 * kMiB);
  EXPECT_TRUE(all_zero(*again));
  EXPECT_FALSE(again->exported());
  munmap(theirs, 4 * kMiB);
}

TEST(HostBufferPoolTest, ABufferServesTheSizesOfItsSegment) {
  HostBufferPool pool(kLarge);
  (void)pool.put(buffer_full_of(std::byte{1}, 5 * kMiB), UINT64_MAX);
  EXPECT_EQ(pool.take(7 * kMiB), nullptr);
  const auto other = take_within_seconds(pool, 6 * kMiB);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->size_bytes(), 6 * kMiB);
  EXPECT_TRUE(all_zero(*other));
}

TEST(HostBufferPoolTest, TheLeastRecentlyFreedGoFirst) {
  HostBufferPool pool({.capacity_bytes = 8 * kMiB});
  auto first = buffer_full_of(std::byte{1}, 4 * kMiB);
  const auto* const oldest = first.get();
  (void)pool.put(std::move(first), UINT64_MAX);
  ASSERT_TRUE(wait_for_clean_bytes(pool, 4 * kMiB));
  (void)pool.put(buffer_full_of(std::byte{2}, 4 * kMiB), UINT64_MAX);
  ASSERT_TRUE(wait_for_clean_bytes(pool, 8 * kMiB));
  const auto gone = pool.put(buffer_full_of(std::byte{3}, 2 * kMiB), UINT64_MAX);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone.front().buffer.get(), oldest);
}

TEST(HostBufferPoolTest, NothingStaysWithoutRoom) {
  HostBufferPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{1}, 4 * kMiB);
  const std::weak_ptr<HostBuffer> watched = buffer;
  EXPECT_TRUE(pool.put(std::move(buffer), 4 * kMiB - 1).empty());
  EXPECT_TRUE(watched.expired());
  (void)pool.put(buffer_full_of(std::byte{1}, 4 * kMiB), UINT64_MAX);
  (void)pool.shrink_to(0);
  for (int i = 0; i < 2000 && pool.use().idle_bytes > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(pool.use().idle_bytes, 0u);
  EXPECT_EQ(pool.take(4 * kMiB), nullptr);
}

TEST(HostBufferPoolTest, MemoryNobodyWantsGoesBackToTheSystem) {
  HostBufferPool pool({.capacity_bytes = 64 * kMiB, .longest_idle = std::chrono::seconds(0)});
  (void)pool.put(buffer_full_of(std::byte{1}, 4 * kMiB), UINT64_MAX);
  for (int i = 0; i < 2000 && pool.use().idle_bytes > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(pool.use().idle_bytes, 0u);
}

TEST(HostBufferPoolTest, OfADevicesMemoryIdleAndUsedStayBelowTheCap) {
  HostMemory memory(64 * kMiB);
  for (const std::uint64_t size : {16 * kMiB, 8 * kMiB}) {
    ASSERT_TRUE(memory.free(memory.allocate(size).value()).ok());
  }
  EXPECT_LE(memory.pool_use().idle_bytes, 16 * kMiB);  // a quarter of the memory
  const auto all = memory.allocate(64 * kMiB);
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (int i = 0; i < 2000 && memory.pool_use().idle_bytes > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(memory.pool_use().idle_bytes, 0u);
}

}  // namespace
}  // namespace ob
