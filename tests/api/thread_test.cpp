// Several threads: queues of their own, one queue at once, and events between them.

#include <array>
#include <atomic>
#include <thread>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

class ApiThreadTest : public ApiTest {};

// More queues than connections, so that some are shared. Each thread makes and destroys its objects
// while the others work.
TEST_P(ApiThreadTest, ThreadsHaveQueuesOfTheirOwn) {
  constexpr int kThreads = 10;
  const std::uint64_t seed = test_seed();
  std::atomic<int> wrong{0};
  const auto work = [&](int number) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(number));
    ob_queue own = nullptr;
    if (ob_queue_create(device, 0, &own) != OB_OK) ++wrong;
    for (int round = 0; round < 20; ++round) {
      const std::int64_t n = uniform(random, 1, 24);
      const std::size_t bytes = static_cast<std::size_t>(n * n) * 8;
      std::vector<double> a(static_cast<std::size_t>(n * n)), expected(a.size(), 0);
      for (double& x : a) x = static_cast<double>(uniform(random, -9, 9));
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t k = 0; k < n; ++k) {
          for (std::int64_t i = 0; i < n; ++i) expected[i + j * n] += a[i + k * n] * a[k + j * n];
        }
      }
      ob_buffer in = nullptr, out = nullptr;
      std::vector<double> result(a.size(), -7);
      const bool done = ob_buffer_create(device, bytes, 0, &in) == OB_OK &&
                        ob_buffer_create(device, bytes, 0, &out) == OB_OK &&
                        ob_write(own, {in, 0}, a.data(), bytes, 0) == OB_OK &&
                        multiply(own, n, in, in, out) == OB_OK &&
                        ob_read(own, result.data(), {out, 0}, bytes, 0) == OB_OK &&
                        ob_queue_synchronize(own, OB_FOREVER, nullptr) == OB_OK &&
                        ob_buffer_destroy(in) == OB_OK && ob_buffer_destroy(out) == OB_OK;
      if (!done || result != expected) ++wrong;  // small integers: exact
    }
    if (ob_queue_destroy(own) != OB_OK) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A chain through several queues: each adds to what the one before has left, and only events order
// them.
TEST_P(ApiThreadTest, EventsOrderQueues) {
  constexpr int kQueues = 5;
  std::vector<ob_queue> queues(kQueues);
  std::vector<ob_event> events(kQueues);
  for (int i = 0; i < kQueues; ++i) {
    ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queues[i])));
    ASSERT_TRUE(succeeds(ob_event_create(device, 0, &events[i])));
  }
  const std::size_t count = 1 << 16;
  const ob_buffer sum = buffer_of(std::vector<double>(count, 0));
  const ob_buffer ones = buffer_of(std::vector<double>(count, 1));
  ASSERT_TRUE(synchronized());
  const std::array operands{number(static_cast<std::int64_t>(count)), real(1), at(ones, 1),
                            at(sum, 1)};
  constexpr int kRounds = 20;
  for (int i = 0; i < kQueues * kRounds; ++i) {
    const int here = i % kQueues;
    const int before = (i + kQueues - 1) % kQueues;
    ASSERT_TRUE(succeeds(ob_event_hold(events[before], queues[here])));
    ASSERT_TRUE(succeeds(ob_call(queues[here], "daxpy", operands.data(), operands.size())));
    ASSERT_TRUE(succeeds(ob_event_record(events[here], queues[here])));
  }
  ASSERT_TRUE(succeeds(ob_event_hold(events[kQueues - 1], queue)));
  EXPECT_EQ(contents<double>(sum, count), std::vector<double>(count, kQueues * kRounds));
}

// A thread that waits for its queue does not hold up another one, whose commands it needs to go on.
TEST_P(ApiThreadTest, OnlyOneThreadMayUseAQueue) {
  const std::int64_t n = 900;
  const ob_buffer a = buffer_of(std::vector<double>(static_cast<std::size_t>(n * n), 1));
  const ob_buffer c = buffer(static_cast<std::uint64_t>(n * n) * 8);
  ob_queue other = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &other)));
  ASSERT_TRUE(synchronized());
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(succeeds(multiply(queue, n, a, a, c)));
  std::atomic<bool> waited{false};
  std::thread waiter([&] {
    ob_status status = OB_INVALID_ARGUMENT;
    // The other thread may have the queue at this moment.
    while (status == OB_INVALID_ARGUMENT) status = ob_queue_synchronize(queue, OB_FOREVER, nullptr);
    EXPECT_TRUE(succeeds(status));
    waited = true;
  });
  // The waiter has its queue until the products are done.
  bool refused = false;
  while (!refused && !waited) {
    const ob_status status = ob_queue_flush(queue);
    refused = status == OB_INVALID_ARGUMENT;
    if (refused) {
      EXPECT_NE(std::string(last_error().message).find("another thread"), std::string::npos);
    }
  }
  EXPECT_TRUE(refused);
  const ob_buffer small = buffer(8);
  const double number_written = 5;
  double number_read = 0;
  EXPECT_TRUE(succeeds(ob_write(other, {small, 0}, &number_written, 8, OB_CAPTURE)));
  EXPECT_TRUE(succeeds(ob_read(other, &number_read, {small, 0}, 8, OB_WAIT)));
  EXPECT_EQ(number_read, 5);
  waiter.join();
}

INSTANTIATE_TEST_SUITE_P(Api, ApiThreadTest, testing::ValuesIn(kEverywhere), name_of);

}  // namespace
}  // namespace ob::test
