#include "device/fair_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ob {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Computes in turns of its length, one after the other, until the end; how long it had the turn.
struct Customer {
  AccountId account;
  microseconds turn;
  unsigned threads = 1;
  std::atomic<std::int64_t> served_us{0};
};

void serve(std::vector<std::unique_ptr<Customer>>& customers, milliseconds duration) {
  FairTurns turns;
  const auto end = Clock::now() + duration;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (auto& customer : customers) {
    for (unsigned i = 0; i < customer->threads; ++i) {
      threads.emplace_back([&] {
        while (Clock::now() < end) {
          const FairTurns::Turn turn(turns, customer->account);
          EXPECT_EQ(++inside, 1);
          const auto began = Clock::now();
          std::this_thread::sleep_for(customer->turn);
          customer->served_us +=
              std::chrono::duration_cast<microseconds>(Clock::now() - began).count();
          --inside;
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(turns.wanted());
}

std::unique_ptr<Customer> customer(std::uint64_t id, microseconds turn, unsigned threads = 1) {
  auto made = std::make_unique<Customer>();
  made->account = AccountId{id};
  made->turn = turn;
  made->threads = threads;
  return made;
}

TEST(FairTurnsTest, LongAndShortTurnsGetEqualTimes) {
  std::vector<std::unique_ptr<Customer>> customers;
  // Several threads each: somebody of every account always waits.
  customers.push_back(customer(1, microseconds(200), 2));
  customers.push_back(customer(2, microseconds(8000), 2));
  customers.push_back(customer(3, microseconds(1000), 6));
  serve(customers, milliseconds(1500));
  for (const auto& one : customers) {
    EXPECT_NEAR(static_cast<double>(one->served_us), 500e3, 60e3) << one->account.value;
  }
}

TEST(FairTurnsTest, WhoWasAwayDoesNotCatchUp) {
  FairTurns turns;
  const AccountId busy{1};
  const AccountId late{2};
  { const FairTurns::Turn turn(turns, late); }
  for (int i = 0; i < 20; ++i) {
    const FairTurns::Turn turn(turns, busy);
    std::this_thread::sleep_for(milliseconds(2));
  }
  // Both have work from now on; the one who was away is at most a turn ahead.
  std::vector<std::uint64_t> order;
  std::mutex mutex;
  std::vector<std::thread> threads;
  {
    const FairTurns::Turn held(turns, AccountId{3});
    for (const AccountId account : {busy, late}) {
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, account] {
          for (int round = 0; round < 3; ++round) {
            const FairTurns::Turn turn(turns, account);
            std::this_thread::sleep_for(milliseconds(2));
            const std::lock_guard lock(mutex);
            order.push_back(account.value);
          }
        });
      }
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  for (std::thread& thread : threads) thread.join();
  // Of the first half each has its part.
  const auto of_late = std::count(order.begin(), order.begin() + 6, late.value);
  EXPECT_GE(of_late, 2);
  EXPECT_LE(of_late, 4);
}

TEST(FairTurnsTest, ManyAccountsComeAndGo) {
  FairTurns turns;
  std::vector<std::thread> threads;
  std::atomic<int> inside{0};
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 500; ++i) {
        const FairTurns::Turn turn(turns, AccountId{t * 1000 + i});
        EXPECT_EQ(++inside, 1);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(turns.wanted());
}

}  // namespace
}  // namespace ob
