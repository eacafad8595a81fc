// Workers put blocks of random sizes, and messages arrive in a random order. The blocks that are on
// their way are counted apart from the classes that limit them.

#include "sial/worker/open_writes.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "sial/server/put_grants.hpp"
#include "support/random.hpp"

namespace ob::sial {
namespace {

using test::uniform;

struct Sent {
  bool asks = false;
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;
};

// One server and its workers. Channels keep their order, as those of an exchange do.
class Traffic {
 public:
  Traffic(std::uint64_t seed, std::uint64_t worker_limit)
      : random_(seed),
        workers_(uniform<Rank>(random_, 1, 6)),
        credit_(PutCredit::of(uniform<std::uint64_t>(random_, 1, 64) * 32 * 1024, workers_)),
        grants_(credit_.grants),
        worker_limit_(worker_limit),
        largest_(uniform<std::uint64_t>(random_, 1, 3 * credit_.grants)),
        to_server_(workers_),
        to_worker_(workers_),
        left_(workers_, 300),
        next_bytes_(workers_),
        unanswered_(workers_) {
    for (Rank worker = 0; worker < workers_; ++worker) {
      open_.emplace_back(1, credit_, worker_limit);
      draw(worker);
    }
  }

  // Runs until all workers have put all. Returns false if nothing can go on.
  bool run() {
    for (;;) {
      std::vector<int> ready;  // 3 x worker: it may try; + 1: its message arrives; + 2: an answer
      for (Rank worker = 0; worker < workers_; ++worker) {
        const int base = 3 * static_cast<int>(worker);
        if (left_[worker] > 0) ready.push_back(base);
        if (!to_server_[worker].empty()) ready.push_back(base + 1);
        if (!to_worker_[worker].empty()) ready.push_back(base + 2);
      }
      if (ready.empty()) return true;
      bool moved = false;
      for (int attempt = 0; attempt < 100 && !moved; ++attempt) {
        moved = step(ready[uniform<std::size_t>(random_, 0, ready.size() - 1)]);
      }
      for (std::size_t at = 0; at < ready.size() && !moved; ++at) moved = step(ready[at]);
      if (!moved) return false;
    }
  }

  std::uint64_t most_allowed() const {
    return workers_ * credit_.share + std::max(credit_.grants, largest_);
  }
  std::uint64_t most_queued() const { return most_queued_; }
  std::uint64_t most_of_a_worker() const { return most_of_a_worker_; }
  std::uint64_t largest() const { return largest_; }
  std::uint64_t put_bytes() const { return put_bytes_; }
  std::uint64_t worker_limit() const { return worker_limit_; }

 private:
  void draw(Rank worker) {
    const std::uint64_t small = std::max<std::uint64_t>(credit_.share / 3, 1);
    next_bytes_[worker] =
        uniform<std::uint64_t>(random_, 0, uniform(random_, 0, 3) == 0 ? largest_ : small);
    next_bytes_[worker] = std::min(next_bytes_[worker], largest_);
  }

  bool step(int what) {
    const auto worker = static_cast<Rank>(what / 3);
    if (what % 3 == 0) return put(worker);
    return what % 3 == 1 ? arrive(worker) : answer(worker);
  }

  bool put(Rank worker) {
    const std::uint64_t bytes = next_bytes_[worker];
    const OpenWrites::Next next = open_[worker].next(0, bytes);
    if (next == OpenWrites::Next::wait) return false;
    const bool asks = next == OpenWrites::Next::ask;
    to_server_[worker].push_back({asks, ++request_, bytes});
    if (asks) return true;
    open_[worker].sent(0, request_, bytes);
    queued_ += bytes;
    put_bytes_ += bytes;
    most_queued_ = std::max(most_queued_, queued_);
    unanswered_[worker] += bytes;
    most_of_a_worker_ = std::max(most_of_a_worker_, unanswered_[worker]);
    --left_[worker];
    draw(worker);
    return true;
  }

  bool arrive(Rank worker) {
    const Sent message = to_server_[worker].front();
    to_server_[worker].pop_front();
    if (message.asks) {
      Message wish;
      wish.from = worker;
      wish.words = {message.bytes};
      grants_.ask(wish);
    } else {
      queued_ -= message.bytes;
      if (message.bytes > credit_.share) grants_.end(message.bytes);
      to_worker_[worker].push_back(message);
    }
    while (const auto wish = grants_.next()) to_worker_[wish->from].push_back({true, 0, 0});
    return true;
  }

  bool answer(Rank worker) {
    const Sent message = to_worker_[worker].front();
    to_worker_[worker].pop_front();
    if (message.asks) {
      open_[worker].granted(0);
    } else {
      open_[worker].answered(0, message.request);
      unanswered_[worker] -= message.bytes;
    }
    return true;
  }

  std::mt19937_64 random_;
  const Rank workers_;
  const PutCredit credit_;
  PutGrants grants_;
  const std::uint64_t worker_limit_;
  const std::uint64_t largest_;
  std::vector<OpenWrites> open_;
  std::vector<std::deque<Sent>> to_server_, to_worker_;
  std::vector<int> left_;
  std::vector<std::uint64_t> next_bytes_;
  std::vector<std::uint64_t> unanswered_;  // bytes of each worker
  std::uint64_t request_ = 0, queued_ = 0, put_bytes_ = 0;
  std::uint64_t most_queued_ = 0, most_of_a_worker_ = 0;
};

TEST(OpenWrites, AServersQueueIsBounded) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t put = 0, queued = 0;
  for (std::uint64_t number = seed; number < seed + 200; ++number) {
    Traffic traffic(number, 0);
    ASSERT_TRUE(traffic.run()) << "seed " << number;
    EXPECT_LE(traffic.most_queued(), traffic.most_allowed()) << "seed " << number;
    put += traffic.put_bytes();
    queued += traffic.most_queued();
  }
  EXPECT_GT(put, 20 * queued);  // so the workers have waited
}

TEST(OpenWrites, TheMemoryOfAWorkerIsBounded) {
  const std::uint64_t seed = test::test_seed();
  for (std::uint64_t number = seed; number < seed + 100; ++number) {
    Traffic traffic(number, 1 + number % 9000);
    ASSERT_TRUE(traffic.run()) << "seed " << number;
    // One block always may go, even if it is larger than the limit.
    EXPECT_LE(traffic.most_of_a_worker(), std::max(traffic.worker_limit(), traffic.largest()))
        << "seed " << number;
  }
}

TEST(OpenWrites, WritesWithoutBlocksAreLimitedToo) {
  OpenWrites open(1, {100, 100}, 0);
  for (std::uint64_t request = 0; request < kMostOpenWrites; ++request) {
    ASSERT_EQ(open.next(0, 0), OpenWrites::Next::send);
    open.sent(0, request, 0);
  }
  EXPECT_EQ(open.next(0, 0), OpenWrites::Next::wait);
  open.answered(0, 0);
  EXPECT_EQ(open.next(0, 0), OpenWrites::Next::send);
}

TEST(OpenWrites, OnlyItsOwnAnswersEndAWrite) {
  OpenWrites open(2, {100, 100}, 0);
  ASSERT_EQ(open.next(1, 60), OpenWrites::Next::send);
  open.sent(1, 7, 60);
  EXPECT_EQ(open.next(1, 60), OpenWrites::Next::wait);
  EXPECT_EQ(open.next(0, 60), OpenWrites::Next::send);
  open.answered(0, 7);
  open.answered(1, 8);
  EXPECT_EQ(open.bytes(), 60U);
  open.answered(1, 7);
  EXPECT_EQ(open.bytes(), 0U);
  EXPECT_EQ(open.next(1, 101), OpenWrites::Next::ask);
  EXPECT_EQ(open.next(1, 101), OpenWrites::Next::wait);
  open.granted(1);
  EXPECT_EQ(open.next(1, 101), OpenWrites::Next::send);
}

}  // namespace
}  // namespace ob::sial
