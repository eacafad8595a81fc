// Waits of all kinds that tell of a read on another queue: the data are there when they end.

#include <poll.h>

#include <condition_variable>
#include <mutex>

#include "api/fixture.hpp"

namespace ob::test {
namespace {

constexpr int kTurns = 60;
constexpr std::size_t kCount = 500;  // a message, also over shared memory
constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 20;

class ApiReadOrderTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    small_ = buffer(kCount * sizeof(std::int32_t));
    large_ = buffer(kLongBytes);
    for (ob_event* event : {&read_, &passed_}) {
      ASSERT_TRUE(succeeds(ob_event_create(device, 0, event)));
    }
    for (ob_queue* made : {&second_, &third_}) {
      ASSERT_TRUE(succeeds(ob_queue_create(device, 0, made)));
    }
  }

  // Reads what the device writes in this turn, after some longer work, and records the read.
  void begin_read(std::int32_t turn) {
    got_.assign(kCount, -1);
    ASSERT_TRUE(succeeds(ob_fill(queue, {large_, 0}, &turn, sizeof turn, kLongBytes / 4)));
    ASSERT_TRUE(succeeds(ob_fill(queue, {small_, 0}, &turn, sizeof turn, kCount)));
    ASSERT_TRUE(succeeds(ob_read(queue, got_.data(), {small_, 0}, kCount * sizeof turn, 0)));
    ASSERT_TRUE(succeeds(ob_event_record(read_, queue)));
    // Something that is under way when the wait ends.
    ASSERT_TRUE(succeeds(ob_fill(queue, {large_, 0}, &turn, sizeof turn, kLongBytes / 4)));
    ASSERT_TRUE(succeeds(ob_queue_flush(queue)));
  }
  void check(std::int32_t turn) const { ASSERT_EQ(got_, std::vector<std::int32_t>(kCount, turn)); }

  ob_buffer small_ = nullptr, large_ = nullptr;
  ob_event read_ = nullptr, passed_ = nullptr;
  ob_queue second_ = nullptr, third_ = nullptr;
  std::vector<std::int32_t> got_;
};

TEST_P(ApiReadOrderTest, AnEventAfterARead) {
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    ASSERT_TRUE(succeeds(ob_event_wait(read_, OB_FOREVER)));
    check(turn);
  }
}

TEST_P(ApiReadOrderTest, AQueueThatHasWaitedForTheEvent) {
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    ASSERT_TRUE(succeeds(ob_event_hold(read_, second_)));
    ASSERT_TRUE(succeeds(ob_queue_synchronize(second_, OB_FOREVER, nullptr)));
    check(turn);
  }
}

TEST_P(ApiReadOrderTest, AQueueThatHasWaitedForAQueueThatHasWaited) {
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    ASSERT_TRUE(succeeds(ob_event_hold(read_, second_)));
    ASSERT_TRUE(succeeds(ob_event_record(passed_, second_)));
    ASSERT_TRUE(succeeds(ob_event_hold(passed_, third_)));
    ASSERT_TRUE(succeeds(ob_queue_synchronize(third_, OB_FOREVER, nullptr)));
    check(turn);
  }
}

TEST_P(ApiReadOrderTest, AQuestionThatDoesNotWait) {
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    while (ob_event_wait(read_, 0) != OB_OK) {
    }
    check(turn);
  }
}

TEST_P(ApiReadOrderTest, ADescriptor) {
  int descriptor = -1;
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    ASSERT_TRUE(succeeds(ob_event_fd(read_, &descriptor)));
    pollfd source{descriptor, POLLIN, 0};
    ASSERT_EQ(::poll(&source, 1, 60'000), 1);
    check(turn);
  }
}

struct Called {
  std::mutex mutex;
  std::condition_variable changed;
  int times = 0;
};

TEST_P(ApiReadOrderTest, ACallbackOfAQueueThatHasWaited) {
  Called called;
  const auto note = [](void* user, const ob_report*) {
    auto& here = *static_cast<Called*>(user);
    const std::lock_guard lock(here.mutex);
    ++here.times;
    here.changed.notify_one();
  };
  for (int turn = 1; turn <= kTurns; ++turn) {
    begin_read(turn);
    ASSERT_TRUE(succeeds(ob_event_hold(read_, second_)));
    ASSERT_TRUE(succeeds(ob_queue_callback(second_, note, &called)));
    std::unique_lock lock(called.mutex);
    called.changed.wait(lock, [&] { return called.times == turn; });
    check(turn);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, ApiReadOrderTest, testing::ValuesIn(kEverywhere), name_of);

}  // namespace
}  // namespace ob::test
