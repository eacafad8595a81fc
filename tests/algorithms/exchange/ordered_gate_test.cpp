// Tests that numbers pass in order, with some of them inside at the same time.

#include "algorithms/exchange/ordered_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

using algorithms::OrderedGate;

TEST(OrderedGate, ANumberWaitsForAllButTheLastBeforeIt) {
  auto random = fresh_random();
  for (const std::size_t width : {1, 2, 5}) {
    constexpr std::size_t kNumbers = 24;
    OrderedGate gate(width);
    std::mutex mutex;
    std::vector<bool> over(kNumbers);
    std::vector<std::size_t> order(kNumbers);
    for (std::size_t i = 0; i < kNumbers; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::thread> threads;
    for (const std::size_t number : order) {
      threads.emplace_back([&, number] {
        ASSERT_TRUE(gate.enter(number, [] { return Status(); }).ok());
        {
          const std::lock_guard lock(mutex);
          for (std::size_t i = 0; i + width <= number; ++i) EXPECT_TRUE(over[i]) << number;
          over[number] = true;
        }
        gate.leave(number);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// A waiting thread checks for a lost device, because no other thread detects the loss.
TEST(OrderedGate, WhoWaitsLooksElsewhereNowAndThen) {
  OrderedGate gate(1);
  int looks = 0;
  const Status status =
      gate.enter(1, [&] { return ++looks < 2 ? Status() : Status(Code::device_error, "gone"); });
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_EQ(looks, 2);
  gate.leave(0);
  EXPECT_TRUE(gate.enter(1, [] { return Status(Code::device_error, "gone"); }).ok());
}

TEST(OrderedGate, AbortEndsAllWaiting) {
  OrderedGate gate(1);
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (std::size_t number = 1; number < 4; ++number) {
    threads.emplace_back([&, number] {
      EXPECT_EQ(gate.enter(number, [] { return Status(); }).code(), Code::device_error);
      ++ended;
    });
  }
  gate.abort({Code::device_error, "injected"});
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace ob::test
