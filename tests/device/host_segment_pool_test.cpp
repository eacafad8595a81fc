#include "device/host_segment_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "device/host_memory.hpp"

namespace ob {
namespace {

using std::chrono::milliseconds;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr HostSegmentPool::Limits kLarge{.capacity_bytes = 64 * kMiB};

HostBuffer buffer_full_of(std::byte value, std::uint64_t size_bytes) {
  HostBuffer buffer(HostSegment::create(size_bytes).value(), 0, size_bytes);
  std::memset(buffer.data(), static_cast<int>(value), size_bytes);
  return buffer;
}

// Waits for the cleaner. Returns nullptr if the segment does not come back within seconds.
std::shared_ptr<HostSegment> take_within_seconds(HostSegmentPool& pool, std::uint64_t size_bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (auto segment = pool.take(size_bytes)) return segment;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return nullptr;
}

bool wait_for_clean_bytes(const HostSegmentPool& pool, std::uint64_t bytes) {
  for (int i = 0; i < 2000 && pool.use().clean_bytes < bytes; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  return pool.use().clean_bytes == bytes;
}

bool all_zero(const HostSegment& segment) {
  return std::all_of(segment.data(), segment.data() + segment.size_bytes(),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST(HostSegmentPoolTest, AFreedSegmentComesBackClean) {
  HostSegmentPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{0x5a}, 5 * kMiB + 1);
  const HostSegment* const before = buffer.segment().get();
  EXPECT_TRUE(pool.put(std::move(buffer), UINT64_MAX).empty());
  const auto again = take_within_seconds(pool, 5 * kMiB + 1);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again.get(), before);
  EXPECT_TRUE(all_zero(*again));
  EXPECT_EQ(pool.use().reused, 1u);
  EXPECT_EQ(pool.use().idle_bytes, 0u);
}

TEST(HostSegmentPoolTest, MemoryThatAClientMayHaveMappedIsReplaced) {
  HostSegmentPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{0x5a}, 4 * kMiB);
  buffer.segment()->mark_exported();
  void* theirs =
      mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.segment()->fd(), 0);
  ASSERT_NE(theirs, MAP_FAILED);
  (void)pool.put(std::move(buffer), UINT64_MAX);
  const auto again = take_within_seconds(pool, 4 * kMiB);
  ASSERT_NE(again, nullptr);
  std::memset(theirs, 0x77, 4 * kMiB);
  EXPECT_TRUE(all_zero(*again));
  EXPECT_FALSE(again->exported());
  munmap(theirs, 4 * kMiB);
}

TEST(HostSegmentPoolTest, ASegmentThatAnExecutorHasMappedServesItsOwnerAgain) {
  const UserId ada{1};
  const UserId bob{2};
  const SessionId here{3};
  const SessionId there{4};
  struct Case {
    Account mapped_for, next;
    bool serves;
  };
  for (const Case& one : {Case{{ada, {}}, {ada, here}, true},
                          {{ada, {}}, {bob, here}, false},
                          {{ada, {}}, {}, false},
                          {{{}, here}, {{}, here}, true},
                          {{{}, here}, {{}, there}, false},
                          {{ada, here}, {ada, there}, false}}) {
    HostSegmentPool pool(kLarge);
    auto buffer = buffer_full_of(std::byte{0x5a}, 4 * kMiB);
    const HostSegment* const before = buffer.segment().get();
    const auto mapping = std::make_shared<int>(0);
    buffer.segment()->map_for(one.mapped_for, 7, mapping);
    (void)pool.put(std::move(buffer), UINT64_MAX);
    ASSERT_TRUE(wait_for_clean_bytes(pool, 4 * kMiB));
    const auto again = pool.take(4 * kMiB, one.next);
    ASSERT_EQ(again.get(), one.serves ? before : nullptr);
    if (!one.serves) continue;
    EXPECT_TRUE(all_zero(*again));
    EXPECT_EQ(again->mapping_of(7), mapping);
    EXPECT_EQ(again->mapping_of(8), nullptr);
  }
}

TEST(HostSegmentPoolTest, ASegmentServesTheBufferSizesThatFitIt) {
  HostSegmentPool pool(kLarge);
  (void)pool.put(buffer_full_of(std::byte{1}, 5 * kMiB), UINT64_MAX);
  EXPECT_EQ(pool.take(7 * kMiB), nullptr);
  const auto other = take_within_seconds(pool, 6 * kMiB);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->size_bytes(), 6 * kMiB);
  EXPECT_TRUE(all_zero(*other));
}

TEST(HostSegmentPoolTest, TheLeastRecentlyFreedGoFirst) {
  HostSegmentPool pool({.capacity_bytes = 8 * kMiB});
  auto first = buffer_full_of(std::byte{1}, 4 * kMiB);
  const auto* const oldest = first.segment().get();
  (void)pool.put(std::move(first), UINT64_MAX);
  ASSERT_TRUE(wait_for_clean_bytes(pool, 4 * kMiB));
  (void)pool.put(buffer_full_of(std::byte{2}, 4 * kMiB), UINT64_MAX);
  ASSERT_TRUE(wait_for_clean_bytes(pool, 8 * kMiB));
  const auto gone = pool.put(buffer_full_of(std::byte{3}, 2 * kMiB), UINT64_MAX);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone.front().segment.get(), oldest);
}

TEST(HostSegmentPoolTest, NothingStaysWithoutRoom) {
  HostSegmentPool pool(kLarge);
  auto buffer = buffer_full_of(std::byte{1}, 4 * kMiB);
  const std::weak_ptr<HostSegment> watched = buffer.segment();
  EXPECT_TRUE(pool.put(std::move(buffer), 4 * kMiB - 1).empty());
  EXPECT_TRUE(watched.expired());
  (void)pool.put(buffer_full_of(std::byte{1}, 4 * kMiB), UINT64_MAX);
  (void)pool.shrink_to(0);
  for (int i = 0; i < 2000 && pool.use().idle_bytes > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(pool.use().idle_bytes, 0u);
  EXPECT_EQ(pool.take(4 * kMiB), nullptr);
}

TEST(HostSegmentPoolTest, MemoryNobodyWantsGoesBackToTheSystem) {
  HostSegmentPool pool({.capacity_bytes = 64 * kMiB, .longest_idle = std::chrono::seconds(0)});
  (void)pool.put(buffer_full_of(std::byte{1}, 4 * kMiB), UINT64_MAX);
  for (int i = 0; i < 2000 && pool.use().idle_bytes > 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(pool.use().idle_bytes, 0u);
}

TEST(HostSegmentPoolTest, OfADevicesMemoryIdleAndUsedStayBelowTheCap) {
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
