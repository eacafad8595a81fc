#include "device/fair_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace ob {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A clock that only the tests move, so that a busy machine changes nothing.
std::atomic<microseconds::rep> test_time_us{0};
Clock::time_point test_now() { return Clock::time_point(microseconds(test_time_us)); }

void await_wanted(const FairTurns& turns, int count) {
  while (turns.wanted() < count) std::this_thread::yield();
}

// A client that computes in turns of its own length until the end, one after another. `served_us`
// is the time of its turns.
struct Customer {
  Account account;
  microseconds turn;
  unsigned threads = 1;
  std::int64_t served_us = 0;  // guarded by the turns
};

// Every turn ends when all others wait: each customer always has work.
void serve(std::vector<std::unique_ptr<Customer>>& customers, milliseconds duration) {
  FairTurns turns({}, &test_now);
  test_time_us = 0;
  const auto end = test_now() + duration;
  int all = 0;
  for (const auto& customer : customers) all += static_cast<int>(customer->threads);
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (auto& customer : customers) {
    for (unsigned i = 0; i < customer->threads; ++i) {
      threads.emplace_back([&] {
        for (bool open = true; open;) {
          const FairTurns::Turn turn(turns, customer->account);
          EXPECT_EQ(++inside, 1);
          open = test_now() < end;
          if (open) {
            await_wanted(turns, all);
            test_time_us += customer->turn.count();
            customer->served_us += customer->turn.count();
          }
          --inside;
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns.wanted(), 0);
}

Account account(std::uint64_t user, std::uint64_t session = 1) {
  return {UserId{user}, SessionId{session}};
}

std::unique_ptr<Customer> customer(const Account& account, microseconds turn,
                                   unsigned threads = 2) {
  auto made = std::make_unique<Customer>();
  made->account = account;
  made->turn = turn;
  made->threads = threads;
  return made;
}

std::int64_t served_us(const std::vector<std::unique_ptr<Customer>>& customers) {
  return std::accumulate(customers.begin(), customers.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& one) { return sum + one->served_us; });
}

// Expects an equal share of the total time of all turns. Shares may differ by one turn of each of
// two clients.
void expect_share(double share_us, std::int64_t total_us, int shares,
                  const std::vector<std::unique_ptr<Customer>>& customers) {
  microseconds longest{0};
  for (const auto& one : customers) longest = std::max(longest, one->turn);
  const double fair_us = static_cast<double>(total_us) / shares;
  EXPECT_NEAR(share_us, fair_us, 2 * static_cast<double>(longest.count()));
}

TEST(FairTurnsTest, LongAndShortTurnsGetEqualTimes) {
  std::vector<std::unique_ptr<Customer>> customers;
  customers.push_back(customer(account(1), microseconds(200)));
  customers.push_back(customer(account(2), microseconds(8000)));
  customers.push_back(customer(account(3), microseconds(1000)));
  serve(customers, milliseconds(1500));
  for (const auto& one : customers) {
    SCOPED_TRACE(one->account.user.value);
    expect_share(static_cast<double>(one->served_us), served_us(customers), 3, customers);
  }
}

TEST(FairTurnsTest, AUserWithManySessionsGetsNoMoreThanOneWithOne) {
  std::vector<std::unique_ptr<Customer>> customers;
  for (std::uint64_t session = 1; session <= 8; ++session) {
    // The turns have different lengths: the sessions get equal times, not equal numbers of turns.
    customers.push_back(customer(account(1, session), microseconds(200 + 200 * session)));
  }
  customers.push_back(customer(account(2), microseconds(1000)));
  serve(customers, milliseconds(2000));
  std::int64_t of_first = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    of_first += customers[i]->served_us;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    expect_share(static_cast<double>(customers[i]->served_us), of_first, 8, customers);
  }
  expect_share(static_cast<double>(of_first), served_us(customers), 2, customers);
}

TEST(FairTurnsTest, EqualSessionNumbersOfTwoUsersAreNotTheSame) {
  std::vector<std::unique_ptr<Customer>> customers;
  customers.push_back(customer(account(1, 7), microseconds(3000)));
  customers.push_back(customer(account(2, 7), microseconds(500)));
  serve(customers, milliseconds(600));
  for (const auto& one : customers) {
    SCOPED_TRACE(one->account.user.value);
    expect_share(static_cast<double>(one->served_us), served_us(customers), 2, customers);
  }
}

// The bound of start-time fair queueing: one turn of each, divided by its share.
TEST(FairTurnsTest, LeasesGetTimesInProportionToTheirShares) {
  std::vector<std::unique_ptr<Customer>> customers;
  customers.push_back(customer({UserId{1}, SessionId{1}, {LeaseId{1}, 250}}, microseconds(4000)));
  customers.push_back(customer({UserId{1}, SessionId{2}, {LeaseId{2}, 750}}, microseconds(700)));
  serve(customers, milliseconds(2000));
  const auto first = static_cast<double>(customers[0]->served_us);
  const auto second = static_cast<double>(customers[1]->served_us);
  EXPECT_NEAR(first / 250, second / 750, 4000.0 / 250 + 700.0 / 750);
}

// Two other clients, of one session or of two, wait until the first turn ends. Returns the number
// of turns that delayed others.
int hold_ups(const Account& second, const Account& third) {
  FairTurns turns;
  std::atomic<int> held_up{0};
  std::vector<std::thread> threads;
  {
    const FairTurns::Turn first(turns, account(1));
    EXPECT_FALSE(first.holds_others_up());
    EXPECT_EQ(first.waited_ns(), 0u);
    for (const Account& other : {second, third}) {
      threads.emplace_back([&, other] {
        const FairTurns::Turn turn(turns, other);
        EXPECT_GE(turn.waited_ns(), 20'000'000u);
        if (turn.holds_others_up()) ++held_up;
      });
    }
    await_wanted(turns, 3);
    std::this_thread::sleep_for(milliseconds(30));
  }
  for (std::thread& thread : threads) thread.join();
  return held_up;
}

TEST(FairTurnsTest, ATurnKnowsWhomItHoldsUpAndHowLongItWaited) {
  EXPECT_EQ(hold_ups(account(2, 1), account(2, 2)), 1);
  EXPECT_EQ(hold_ups(account(2, 1), account(3, 1)), 1);
  EXPECT_EQ(hold_ups(account(2, 1), account(2, 1)), 0);  // a session does not delay itself
}

TEST(FairTurnsTest, WhoWasAwayDoesNotCatchUp) {
  FairTurns turns({}, &test_now);
  const Account busy = account(1);
  const Account late = account(2);
  { const FairTurns::Turn turn(turns, late); }
  for (int i = 0; i < 20; ++i) {
    const FairTurns::Turn turn(turns, busy);
    test_time_us += 2000;
  }
  // Both have work from now on. The late one is at most a turn ahead.
  std::vector<std::uint64_t> order;  // guarded by the turns
  std::vector<std::thread> threads;
  {
    const FairTurns::Turn held(turns, account(3));
    for (const Account& each : {busy, late}) {
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, each] {
          for (int round = 0; round < 3; ++round) {
            const FairTurns::Turn turn(turns, each);
            if (order.size() < 6) await_wanted(turns, 4);
            test_time_us += 2000;
            order.push_back(each.user.value);
          }
        });
      }
    }
    await_wanted(turns, 5);
  }
  for (std::thread& thread : threads) thread.join();
  // Each of them gets its share of the first half.
  const auto of_late = std::count(order.begin(), order.begin() + 6, late.user.value);
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
        const FairTurns::Turn turn(turns, account(t % 2 == 0 ? t : t * 1000 + i, i));
        EXPECT_EQ(++inside, 1);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns.wanted(), 0);
}

// Turns that begin in threads of their own. All of them end with the object, or by end().
class TurnsInThreads {
 public:
  explicit TurnsInThreads(const FairTurns::Overlap& overlap) : turns_(overlap) {}
  ~TurnsInThreads() {
    for (std::size_t i = 0; i < threads_.size(); ++i) end(i);
    for (std::thread& thread : threads_) thread.join();
  }
  TurnsInThreads(const TurnsInThreads&) = delete;
  TurnsInThreads& operator=(const TurnsInThreads&) = delete;

  // Asks for a turn, and returns its number.
  std::size_t ask(const Account& account) {
    const std::size_t number = threads_.size();
    threads_.emplace_back([this, number, account] {
      const FairTurns::Turn turn(turns_, account);
      std::unique_lock lock(mutex_);
      began_[number] = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return ended_[number]; });
    });
    return number;
  }
  bool begins_within(std::size_t number, milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return began_[number]; });
  }
  void end(std::size_t number) {
    const std::lock_guard lock(mutex_);
    ended_[number] = true;
    changed_.notify_all();
  }
  const FairTurns& turns() const { return turns_; }

 private:
  FairTurns turns_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::array<bool, 8> began_{};
  std::array<bool, 8> ended_{};
  std::vector<std::thread> threads_;
};

constexpr milliseconds kHang{20000};
constexpr milliseconds kMoment{300};

TEST(FairTurnsTest, TurnsNeverOverlapByDefault) {
  TurnsInThreads all({});
  const auto first = all.ask(account(1));
  ASSERT_TRUE(all.begins_within(first, kHang));
  EXPECT_FALSE(all.begins_within(all.ask(account(2)), kMoment));
}

TEST(FairTurnsTest, ALongTurnLetsOthersBeginBesideIt) {
  TurnsInThreads all({.after = milliseconds(50)});
  const auto began = Clock::now();
  const auto first = all.ask(account(1));
  ASSERT_TRUE(all.begins_within(first, kHang));
  const auto second = all.ask(account(2));
  const auto third = all.ask(account(3));
  EXPECT_TRUE(all.begins_within(second, kHang));
  EXPECT_TRUE(all.begins_within(third, kHang)) << "the second turn is long, too";
  EXPECT_GE(Clock::now() - began, milliseconds(100));
  EXPECT_TRUE(all.turns().wanted_by_others(account(1)));
  EXPECT_TRUE(all.turns().wanted_by_others(account(4)));
}

TEST(FairTurnsTest, TurnsOfOneProcessNeverOverlap) {
  for (const bool between_sessions : {true, false}) {
    SCOPED_TRACE(between_sessions);
    TurnsInThreads all({.after = milliseconds(10), .between_sessions = between_sessions});
    const auto first = all.ask(account(1, 1));
    ASSERT_TRUE(all.begins_within(first, kHang));
    const auto same = all.ask(account(1, 1));
    const auto other_session = all.ask(account(1, 2));
    EXPECT_EQ(all.begins_within(other_session, between_sessions ? kHang : kMoment),
              between_sessions);
    EXPECT_FALSE(all.begins_within(same, kMoment));
    EXPECT_TRUE(all.begins_within(all.ask(account(2, 1)), kHang));
    all.end(first);
    all.end(other_session);
    EXPECT_TRUE(all.begins_within(same, kHang));
  }
}

// Many clients with turns on both sides of the limit: each gets all its turns, and never two of one
// client at once.
TEST(FairTurnsTest, OverlappingTurnsAllEnd) {
  FairTurns turns({.after = milliseconds(2)});
  std::atomic<int> inside[6]{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 60; ++round) {
        const FairTurns::Turn turn(turns, account(i % 6 + 1));
        EXPECT_EQ(++inside[i % 6], 1);
        std::this_thread::sleep_for(microseconds((i * 7 + round * 13) % 50 * 100));
        --inside[i % 6];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns.wanted(), 0);
}

}  // namespace
}  // namespace ob
