#include "device/device_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "device/work_area.hpp"

namespace ob {
namespace {

constexpr std::uint64_t kUnit = DeviceMemory::kUnitBytes;

// A source of host memory that counts, and fails on request.
struct Given {
  std::mutex mutex;  // commands give memory back on their own threads
  std::set<std::byte*> out;
  int obtained = 0;
  int failures = 0;  ///< how many of the next requests fail
};

class Source final : public MemorySource {
 public:
  explicit Source(std::shared_ptr<Given> given) : given_(std::move(given)) {}

  Result<std::byte*> obtain(std::uint64_t size_bytes) override {
    const std::lock_guard lock(given_->mutex);
    if (given_->failures > 0) {
      --given_->failures;
      return Status(Code::out_of_memory, "none left");
    }
    ++given_->obtained;
    auto* const data = new std::byte[size_bytes];
    std::fill(data, data + size_bytes, std::byte{0xFF});
    given_->out.insert(data);
    return data;
  }
  void give_back(std::byte* data) noexcept override {
    const std::lock_guard lock(given_->mutex);
    EXPECT_EQ(given_->out.erase(data), 1u);
    delete[] data;
  }
  Status clear(std::byte* data, std::uint64_t size_bytes) override {
    std::memset(data, 0, size_bytes);
    return {};
  }

 private:
  const std::shared_ptr<Given> given_;
};

class DeviceMemoryTest : public testing::Test {
 protected:
  void make(std::uint64_t capacity_bytes) {
    memory_ = std::make_unique<DeviceMemory>(std::make_unique<Source>(given_), capacity_bytes);
  }
  void TearDown() override {
    memory_.reset();
    EXPECT_TRUE(given_->out.empty());
  }
  DeviceMemory& memory() { return *memory_; }
  Given& given() { return *given_; }

 private:
  const std::shared_ptr<Given> given_ = std::make_shared<Given>();
  std::unique_ptr<DeviceMemory> memory_;
};

TEST_F(DeviceMemoryTest, BuffersAreZeroedEvenWhenTheyAreUsedAgain) {
  make(100 * kUnit);
  const auto first = memory().allocate(kUnit);
  ASSERT_TRUE(first.ok());
  std::byte* const data = memory().held(*first).data;
  EXPECT_TRUE(std::all_of(data, data + kUnit, [](std::byte b) { return b == std::byte{0}; }));
  std::memset(data, 0xAA, kUnit);
  ASSERT_TRUE(memory().free(*first).ok());
  const auto second = memory().allocate(kUnit - 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(memory().held(*second).data, data);
  EXPECT_EQ(data[kUnit - 1], std::byte{0});
  EXPECT_EQ(memory().use().reused, 1u);
  EXPECT_EQ(given().obtained, 1);
}

TEST_F(DeviceMemoryTest, TheCapCountsBuffersThatCommandsHold) {
  make(4 * kUnit);
  const auto first = memory().allocate(3 * kUnit);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(memory().allocate(2 * kUnit).status().code(), Code::out_of_memory);
  HeldMemory held = memory().held(*first);
  ASSERT_TRUE(memory().free(*first).ok());
  // This thread is the command that holds the memory; allocate() must wait for it.
  std::thread command([held = std::move(held)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held.owner.reset();
  });
  EXPECT_TRUE(memory().allocate(2 * kUnit).ok());
  command.join();
}

TEST_F(DeviceMemoryTest, AwaitsRoomOnlyWhereAllocateWouldWait) {
  constexpr std::chrono::milliseconds kLongest{1};
  make(4 * kUnit);
  const auto first = memory().allocate(3 * kUnit);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(memory().await_room(kUnit, kLongest));
  EXPECT_TRUE(memory().await_room(2 * kUnit, kLongest));  // allocate() fails at once
  HeldMemory held = memory().held(*first);
  ASSERT_TRUE(memory().free(*first).ok());
  EXPECT_FALSE(memory().await_room(2 * kUnit, kLongest));
  EXPECT_TRUE(memory().await_room(5 * kUnit, kLongest));  // more than the device has
  held.owner.reset();
  EXPECT_TRUE(memory().await_room(2 * kUnit, kLongest));
}

TEST_F(DeviceMemoryTest, WhatIsSetAsideCountsAndIsNotKeptByOthers) {
  make(10 * kUnit);
  const auto idle = memory().allocate(4 * kUnit);
  ASSERT_TRUE(idle.ok() && memory().free(*idle).ok());
  EXPECT_EQ(memory().use().idle_bytes, 4 * kUnit);
  EXPECT_EQ(memory().set_aside(10 * kUnit + 1, DeviceMemory::Aside::for_long).status().code(),
            Code::out_of_memory);
  EXPECT_EQ(memory().use().used_bytes, 0u);
  auto aside = memory().set_aside(7 * kUnit + 1, DeviceMemory::Aside::for_long);
  ASSERT_TRUE(aside.ok()) << aside.status().message();
  EXPECT_EQ(memory().use().used_bytes, 7 * kUnit + 1);
  EXPECT_EQ(memory().use().idle_bytes, 0u);  // keeping it would exceed the cap
  EXPECT_EQ(given().obtained, 1);            // memory that is only counted is not obtained
  EXPECT_EQ(memory().allocate(3 * kUnit).status().code(), Code::out_of_memory);
  aside->reset();
  EXPECT_EQ(memory().use().used_bytes, 0u);
  EXPECT_TRUE(memory().allocate(10 * kUnit).ok());
}

TEST_F(DeviceMemoryTest, WhatIsSetAsideForACommandIsWaitedFor) {
  make(4 * kUnit);
  auto aside = memory().set_aside(3 * kUnit, DeviceMemory::Aside::for_a_command);
  ASSERT_TRUE(aside.ok()) << aside.status().message();
  std::thread command([&aside] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    aside->reset();
  });
  EXPECT_TRUE(memory().allocate(2 * kUnit).ok());
  command.join();
}

TEST_F(DeviceMemoryTest, WhatIsIdleGoesWhenTheDriverHasNoneLeft) {
  make(100 * kUnit);
  const auto idle = memory().allocate(kUnit);
  ASSERT_TRUE(idle.ok() && memory().free(*idle).ok());
  given().failures = 1;
  EXPECT_TRUE(memory().allocate(2 * kUnit).ok());
  EXPECT_EQ(memory().use().idle_bytes, 0u);
  given().failures = 2;
  EXPECT_EQ(memory().allocate(3 * kUnit).status().code(), Code::out_of_memory);
  EXPECT_EQ(memory().use().used_bytes, 2 * kUnit);  // a refused request is not counted
}

TEST_F(DeviceMemoryTest, WorkspacesLieApartAndAreSharedByCommandsInFlight) {
  make(1024 * kUnit);
  bool caught_up = false;
  WorkArea work(memory(), [&] { caught_up = true; });
  const auto first = work.device_bytes(1000);
  const auto second = work.device_bytes(1);
  const auto third = work.device_bytes(std::uint64_t{1} << 21);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_GE(*second - *first, 1000);
  EXPECT_EQ((*second - *first) % 256, 0);
  std::memset(*third, 1, std::size_t{1} << 21);
  auto in_flight = work.hand_over();
  const auto shared = work.device_bytes(1);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(*shared, *third);  // the larger one; the queue uses it later
  in_flight.clear();
  work.hand_over().clear();
  EXPECT_EQ(memory().use().used_bytes, 0u);
  EXPECT_FALSE(caught_up);
}

TEST_F(DeviceMemoryTest, AWorkspaceWaitsForThoseInFlight) {
  make(4 * kUnit);
  std::vector<std::shared_ptr<DeviceBuffer>> in_flight;
  WorkArea work(memory(), [&] { in_flight.clear(); });
  ASSERT_TRUE(work.device_bytes(3 * kUnit).ok());
  in_flight = work.hand_over();
  EXPECT_TRUE(work.device_bytes(4 * kUnit).ok());
  EXPECT_TRUE(in_flight.empty());
  EXPECT_EQ(work.device_bytes(kUnit).status().code(), Code::out_of_memory);
}

}  // namespace
}  // namespace ob
