// Tests that all parts of a call commit their results, or none does.

#include "algorithms/tiles/commit_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace ob::test {
namespace {

using algorithms::CommitGate;
using algorithms::CommitsLater;

TEST(CommitGate, NobodyCommitsBeforeAllAreInHand) {
  constexpr std::size_t kParts = 6;
  CommitGate gate(kParts);
  std::atomic<std::size_t> arrived{0};
  std::atomic<std::size_t> committed{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kParts; ++i) {
    threads.emplace_back([&] {
      ++arrived;
      const Status status = gate.ready([&] {
        EXPECT_EQ(arrived, kParts);
        ++committed;
      });
      EXPECT_TRUE(status.ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(committed, kParts);
}

TEST(CommitGate, WhoGivesUpReleasesTheOthersWithNothingDone) {
  CommitGate gate(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const Status status = gate.ready([] { ADD_FAILURE() << "committed"; });
      EXPECT_EQ(status.code(), Code::declined);
    });
  }
  gate.abort();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.ready([] { ADD_FAILURE() << "committed"; }).code(), Code::declined);
}

TEST(CommitsLater, CommitsInOrder) {
  CommitsLater later;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(later.ready([&order, i] { order.push_back(i); }).ok());
  }
  EXPECT_TRUE(order.empty());
  later.commit();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(Commits, OfACallThatIsNoPartHappenAtOnce) {
  bool committed = false;
  EXPECT_TRUE(algorithms::commit_or_wait(nullptr, [&] { committed = true; }).ok());
  EXPECT_TRUE(committed);
}

}  // namespace
}  // namespace ob::test
