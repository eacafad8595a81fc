#include "device/host_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace ob {
namespace {

constexpr std::uint64_t kUnit = HostMemory::kUnitBytes;

TEST(HostMemoryTest, CountsLiveBuffersInUnits) {
  HostMemory memory(10 * kUnit);
  auto a = memory.allocate(1);
  auto b = memory.allocate(kUnit + 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(*a, *b);
  EXPECT_EQ(memory.used_bytes(), 3 * kUnit);
  EXPECT_TRUE(memory.free(*a).ok());
  EXPECT_EQ(memory.used_bytes(), 2 * kUnit);
  EXPECT_EQ(memory.find(*a), nullptr);
  EXPECT_EQ(memory.find(*b)->size_bytes(), kUnit + 1);
}

TEST(HostMemoryTest, RefusesMoreThanTheCapWithNumbers) {
  HostMemory memory(4 * kUnit);
  auto held = memory.allocate(3 * kUnit);
  ASSERT_TRUE(held.ok());
  const auto more = memory.allocate(2 * kUnit);
  EXPECT_EQ(more.status().code(), Code::out_of_memory);
  for (const std::uint64_t number : {2 * kUnit, 3 * kUnit, 4 * kUnit}) {
    EXPECT_NE(more.status().message().find(std::to_string(number)), std::string::npos)
        << more.status().message();
  }
  EXPECT_EQ(memory.allocate(UINT64_MAX).status().code(), Code::out_of_memory);
  EXPECT_TRUE(memory.allocate(kUnit).ok());
}

TEST(HostMemoryTest, FreeingTwiceIsRefused) {
  HostMemory memory(4 * kUnit);
  const auto buffer = memory.allocate(1);
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE(memory.free(buffer.value()).ok());
  EXPECT_EQ(memory.free(buffer.value()).code(), Code::invalid_argument);
}

TEST(HostMemoryTest, ABufferInUseOutlivesItsFreeAndStillCounts) {
  HostMemory memory(4 * kUnit);
  const BufferId id = memory.allocate(kUnit).value();
  auto user = memory.find(id);
  ASSERT_TRUE(memory.free(id).ok());
  EXPECT_EQ(memory.used_bytes(), kUnit);
  user->data()[0] = std::byte{1};
  user.reset();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(HostMemoryTest, AllocateWaitsForFreedBuffersStillInUse) {
  HostMemory memory(4 * kUnit);
  const BufferId id = memory.allocate(4 * kUnit).value();
  auto user = memory.find(id);
  ASSERT_TRUE(memory.free(id).ok());
  std::atomic<bool> released{false};
  std::thread command([&, user = std::move(user)]() mutable {
    released = true;
    user.reset();
  });
  const auto next = memory.allocate(2 * kUnit);
  EXPECT_TRUE(next.ok()) << next.status().message();
  EXPECT_TRUE(released);
  command.join();
}

TEST(HostMemoryTest, AwaitsRoomOnlyWhereAllocateWouldWait) {
  constexpr std::chrono::milliseconds kLongest{1};
  HostMemory memory(4 * kUnit);
  const BufferId id = memory.allocate(3 * kUnit).value();
  EXPECT_TRUE(memory.await_room(kUnit, kLongest));
  EXPECT_TRUE(memory.await_room(2 * kUnit, kLongest));  // allocate() fails at once
  auto user = memory.find(id);
  ASSERT_TRUE(memory.free(id).ok());
  EXPECT_FALSE(memory.await_room(2 * kUnit, kLongest));
  EXPECT_TRUE(memory.await_room(5 * kUnit, kLongest));  // more than the device has
  user.reset();
  EXPECT_TRUE(memory.await_room(2 * kUnit, kLongest));
}

TEST(HostMemoryTest, BuffersMayOutliveTheMemory) {
  std::shared_ptr<HostBuffer> survivor;
  {
    HostMemory memory(4 * kUnit);
    survivor = memory.find(memory.allocate(8).value());
  }
  survivor->data()[7] = std::byte{3};
  survivor.reset();
}

TEST(HostMemoryTest, ThreadsMayAllocateAndFreeAtOnce) {
  HostMemory memory(1000 * kUnit);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory] {
      for (int i = 0; i < 200; ++i) {
        const auto id = memory.allocate(static_cast<std::uint64_t>(i) * 17);
        ASSERT_TRUE(id.ok());
        memory.find(id.value())->data()[0] = std::byte{1};
        ASSERT_TRUE(memory.free(id.value()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.used_bytes(), 0u);
}

TEST(HostMemoryTest, ManySmallBuffersTakeFewMemoryFilesAndCountAsBefore) {
  HostMemory memory(20'000 * kUnit);
  std::vector<BufferId> all;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = memory.allocate(8, {UserId{1}, SessionId{1}});
    ASSERT_TRUE(id.ok()) << id.status().message();
    all.push_back(*id);
    memory.find(*id)->data()[0] = std::byte{1};
  }
  EXPECT_LE(memory.used_segments(), 40u);
  EXPECT_EQ(memory.used_bytes(), 10'000 * kUnit);
  for (const BufferId id : all) ASSERT_TRUE(memory.free(id).ok());
  EXPECT_LE(memory.used_segments(), 1u);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.pool_use().idle_bytes, 0u);
}

TEST(HostMemoryTest, AUserGetsNoMoreThanItsShareOfMemoryFiles) {
  HostMemory memory(1 << 28, 70);
  const Account greedy{UserId{1}, SessionId{1}};
  std::vector<BufferId> all;
  Result<BufferId> last = memory.allocate(100'000, greedy);
  for (; last.ok(); last = memory.allocate(100'000, greedy)) all.push_back(*last);
  EXPECT_EQ(last.status().code(), Code::out_of_memory);
  EXPECT_EQ(all.size(), 30u);
  EXPECT_EQ(memory.used_bytes(), 30 * 25 * kUnit);
  EXPECT_TRUE(memory.allocate(100'000, {UserId{2}, SessionId{2}}).ok());
  ASSERT_TRUE(memory.free(all.back()).ok());
  EXPECT_TRUE(memory.allocate(100'000, greedy).ok());
}

TEST(HostMemoryTest, IdleMemoryFilesAreFewWhereFilesAreFew) {
  HostMemory memory(1 << 28, 80);
  std::vector<BufferId> all;
  for (int i = 0; i < 40; ++i) all.push_back(memory.allocate(100'000).value());
  for (const BufferId id : all) ASSERT_TRUE(memory.free(id).ok());
  // One more may be in cleaning.
  EXPECT_LE(memory.pool_use().idle_bytes, 11 * HostSegment::bytes_for(100'000));
}

TEST(HostMemoryTest, DevicesShareTheMachine) {
  EXPECT_GT(share_of_host_memory(1), 0u);
  EXPECT_EQ(share_of_host_memory(1) / 2, share_of_host_memory(2));
}

}  // namespace
}  // namespace ob
