// Order within a queue, events between queues, and errors that last until they are reported.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

class QueueTest : public DeviceTest {
 protected:
  QueueId another_queue() {
    auto made = device().create_queue();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : QueueId{};
  }
  EventId event() {
    auto made = device().create_event();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : EventId{};
  }
  Status copy(QueueId on, BufferId from, BufferId to, std::uint64_t size_bytes) {
    return device().copy(on, from, byte_region(size_bytes), to, byte_region(size_bytes));
  }
  Status write(QueueId on, BufferId to, Bytes& contents) {
    return device().write(on, to, byte_region(contents.size()),
                          Layout::bytes(contents.data(), contents.size()));
  }
  Status read(QueueId on, BufferId from, Bytes& contents) {
    return device().read(on, from, byte_region(contents.size()),
                         Layout::bytes(contents.data(), contents.size()));
  }
  // Every device refuses this write: it is longer than its buffer.
  Status bad_write(QueueId on, BufferId to, Bytes& contents) {
    return device().write(on, to, byte_region(contents.size(), std::uint64_t{1} << 40),
                          Layout::bytes(contents.data(), contents.size()));
  }
};

// Collects the reports that the callback of on_reached gets, possibly on another thread.
class Mailbox {
 public:
  std::function<void(const QueueReport&)> receiver() {
    return [this](const QueueReport& report) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(report);
      changed_.notify_all();
    };
  }
  QueueReport wait_for(std::size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reports_.size() > index; });
    return reports_[index];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<QueueReport> reports_;
};

TEST_P(QueueTest, CommandsHappenInOrder) {
  // Large and small copies are mixed: a device may run them on different threads.
  const std::uint64_t sizes[] = {8, 3 * kMiB, 64, kMiB, 1};
  const BufferId a = allocate(4 * kMiB);
  const BufferId b = allocate(4 * kMiB);
  std::vector<Bytes> sent;
  std::vector<Bytes> received;
  for (int round = 0; round < 30; ++round) {
    sent.push_back(random_bytes(sizes[round % 5]));
    received.emplace_back(sizes[round % 5], kPoison);
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    ASSERT_TRUE(write(queue(), a, sent[i]).ok());
    ASSERT_TRUE(copy(queue(), a, b, sent[i].size()).ok());
    ASSERT_TRUE(read(queue(), b, received[i]).ok());
  }
  const QueueReport report = device().synchronize(queue());
  ASSERT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_TRUE(received == sent);
}

TEST_P(QueueTest, ManySmallCommandsNeedNoSynchronize) {
  constexpr std::size_t kCommands = 3000;  // more than any limit of commands in flight
  const BufferId buffer = allocate(kCommands);
  Bytes contents = random_bytes(kCommands);
  for (std::size_t i = 0; i < kCommands; ++i) {
    ASSERT_TRUE(
        device().write(queue(), buffer, byte_region(1, i), Layout::bytes(&contents[i], 1)).ok());
  }
  EXPECT_EQ(download(buffer, kCommands), contents);
}

TEST_P(QueueTest, AnEventOrdersTwoQueues) {
  constexpr std::uint64_t kSize = 2 * kMiB;
  const QueueId second = another_queue();
  const EventId done = event();
  const BufferId a = allocate(kSize);
  const BufferId b = allocate(kSize);
  for (int round = 0; round < 10; ++round) {
    Bytes contents = random_bytes(kSize);
    Bytes received(kSize, kPoison);
    ASSERT_TRUE(write(queue(), a, contents).ok());
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(copy(queue(), a, b, kSize).ok());
    ASSERT_TRUE(device().record(queue(), done).ok());
    ASSERT_TRUE(device().wait(second, done).ok());
    ASSERT_TRUE(read(second, b, received).ok());
    const QueueReport report = device().synchronize(second);
    ASSERT_TRUE(report.status.ok()) << report.status.message();
    ASSERT_TRUE(received == contents) << "round " << round;
    ASSERT_TRUE(device().synchronize(queue()).status.ok());
  }
}

TEST_P(QueueTest, QueuesPassABufferBackAndForth) {
  const QueueId queues[] = {queue(), another_queue()};
  const EventId events[] = {event(), event()};
  constexpr std::uint64_t kSize = 4096;
  const BufferId ring[] = {allocate(kSize), allocate(kSize)};
  Bytes contents = random_bytes(kSize);
  ASSERT_TRUE(write(queues[0], ring[0], contents).ok());
  for (int hop = 0; hop < 200; ++hop) {
    const int to = (hop + 1) % 2;
    ASSERT_TRUE(device().record(queues[hop % 2], events[hop % 2]).ok());
    ASSERT_TRUE(device().wait(queues[to], events[hop % 2]).ok());
    ASSERT_TRUE(copy(queues[to], ring[hop % 2], ring[to], kSize).ok());
  }
  ASSERT_TRUE(device().synchronize(queues[1]).status.ok());
  EXPECT_EQ(download(ring[0], kSize), contents);
}

TEST_P(QueueTest, WaitingForAnEventNeverRecordedIsNothing) {
  ASSERT_TRUE(device().wait(queue(), event()).ok());
  const QueueReport report = device().synchronize(queue());
  EXPECT_TRUE(report.status.ok()) << report.status.message();
}

TEST_P(QueueTest, AnUnknownEventIsRefused) {
  const EventId gone = event();
  ASSERT_TRUE(device().destroy_event(gone).ok());
  EXPECT_FALSE(outcome(device().record(queue(), gone)).ok());
  EXPECT_FALSE(outcome(device().wait(queue(), EventId{777777})).ok());
}

TEST_P(QueueTest, AnErrorSticksAndNamesItsCommand) {
  const BufferId buffer = allocate(64);
  Bytes first = random_bytes(64);
  Bytes skipped = random_bytes(64);
  const QueueId fresh = another_queue();  // its commands count from 1
  ASSERT_TRUE(write(fresh, buffer, first).ok());
  if (!bad_write(fresh, buffer, skipped).ok()) GTEST_SKIP() << "refused before it was submitted";
  (void)write(fresh, buffer, skipped);
  QueueReport report = device().synchronize(fresh);
  EXPECT_EQ(report.status.code(), Code::invalid_argument) << report.status.message();
  EXPECT_FALSE(report.status.message().empty());
  EXPECT_EQ(report.failed_command, 2u);
  EXPECT_EQ(download(buffer, 64), first);
  // The error is cleared, and the numbers continue: 3 was skipped, 4 succeeds, 5 fails.
  ASSERT_TRUE(write(fresh, buffer, skipped).ok());
  (void)bad_write(fresh, buffer, skipped);
  (void)bad_write(fresh, buffer, skipped);
  report = device().synchronize(fresh);
  EXPECT_EQ(report.status.code(), Code::invalid_argument);
  EXPECT_EQ(report.failed_command, 5u);
  EXPECT_EQ(download(buffer, 64), skipped);
  report = device().synchronize(fresh);
  EXPECT_TRUE(report.status.ok());
  EXPECT_EQ(report.failed_command, 0u);
}

TEST_P(QueueTest, EventsHaveNumbersLikeOtherCommands) {
  const QueueId fresh = another_queue();
  const EventId done = event();
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  ASSERT_TRUE(device().wait(fresh, done).ok());  // an event without a record is reached
  ASSERT_TRUE(device().record(fresh, done).ok());
  ASSERT_TRUE(device().wait(fresh, done).ok());
  ASSERT_TRUE(device().set_accuracy(fresh, Accuracy::strict).ok());  // counts as no command
  if (!bad_write(fresh, buffer, contents).ok()) GTEST_SKIP() << "refused before it was submitted";
  EXPECT_EQ(device().synchronize(fresh).failed_command, 4U);
}

TEST_P(QueueTest, AnErrorStaysOnItsQueue) {
  const QueueId healthy = another_queue();
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  (void)bad_write(queue(), buffer, contents);
  ASSERT_TRUE(write(healthy, buffer, contents).ok());
  EXPECT_TRUE(device().synchronize(healthy).status.ok());
  (void)device().synchronize(queue());
  EXPECT_EQ(download(buffer, 64), contents);
}

TEST_P(QueueTest, AFailedQueueHoldsNobody) {
  const QueueId second = another_queue();
  const EventId done = event();
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  (void)bad_write(queue(), buffer, contents);
  ASSERT_TRUE(device().record(queue(), done).ok());
  ASSERT_TRUE(device().wait(second, done).ok());
  EXPECT_TRUE(device().synchronize(second).status.ok());
  (void)device().synchronize(queue());
}

TEST_P(QueueTest, OnReachedComesAfterWhatWasSubmitted) {
  constexpr std::uint64_t kSize = 8 * kMiB;
  const BufferId buffer = allocate(kSize);
  Bytes contents = random_bytes(kSize);
  Bytes received(kSize, kPoison);
  Mailbox mailbox;
  ASSERT_TRUE(write(queue(), buffer, contents).ok());
  ASSERT_TRUE(read(queue(), buffer, received).ok());
  ASSERT_TRUE(device().on_reached(queue(), true, mailbox.receiver()).ok());
  const QueueReport report = mailbox.wait_for(0);
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_TRUE(received == contents);
}

TEST_P(QueueTest, OnReachedClearsOnlyIfTold) {
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  ASSERT_TRUE(device().synchronize(queue()).status.ok());
  if (!bad_write(queue(), buffer, contents).ok()) GTEST_SKIP() << "refused before it was submitted";
  Mailbox mailbox;
  ASSERT_TRUE(device().on_reached(queue(), false, mailbox.receiver()).ok());
  ASSERT_TRUE(device().on_reached(queue(), true, mailbox.receiver()).ok());
  ASSERT_TRUE(device().on_reached(queue(), true, mailbox.receiver()).ok());
  EXPECT_EQ(mailbox.wait_for(0).status.code(), Code::invalid_argument);
  EXPECT_EQ(mailbox.wait_for(1).status.code(), Code::invalid_argument);
  EXPECT_TRUE(mailbox.wait_for(2).status.ok());
  EXPECT_TRUE(device().synchronize(queue()).status.ok());
}

TEST_P(QueueTest, AWaitClearsOnlyIfTold) {
  const auto forever = std::chrono::steady_clock::time_point::max();
  const BufferId buffer = allocate(kMiB);
  Bytes contents = random_bytes(kMiB);
  const auto own = another_queue();
  // A wait that is given up, or not, must not lose the failure that it asked for.
  if (!bad_write(own, buffer, contents).ok()) {  // found at once, so nothing is left to report
    EXPECT_TRUE(device().await(own, true, forever)->status.ok());
    return;
  }
  (void)device().await(own, false, std::chrono::steady_clock::now());
  for (const bool clear : {false, true}) {
    const auto report = device().await(own, clear, forever);
    ASSERT_TRUE(report.has_value());
    EXPECT_FALSE(report->status.ok());
    EXPECT_EQ(report->failed_command, 1u);
  }
  const auto cleared = device().await(own, false, forever);
  ASSERT_TRUE(cleared.has_value());
  EXPECT_TRUE(cleared->status.ok());
}

TEST_P(QueueTest, AnUnknownQueueIsRefused) {
  const QueueId gone = another_queue();
  ASSERT_TRUE(device().destroy_queue(gone).ok());
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  EXPECT_FALSE(outcome(gone, write(gone, buffer, contents)).ok());
  EXPECT_FALSE(device().synchronize(QueueId{424242}).status.ok());
}

TEST_P(QueueTest, DestroyingAQueueWaitsForIt) {
  constexpr std::uint64_t kSize = 4 * kMiB;
  const BufferId a = allocate(kSize);
  const BufferId b = allocate(kSize);
  Bytes contents = random_bytes(kSize);
  const QueueId second = another_queue();
  ASSERT_TRUE(write(second, a, contents).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(copy(second, a, b, kSize).ok());
  ASSERT_TRUE(device().destroy_queue(second).ok());
  EXPECT_TRUE(download(b, kSize) == contents);
}

TEST_P(QueueTest, ThreadsUseTheirOwnQueuesAtOnce) {
  if (!GetParam().any_thread) GTEST_SKIP() << "one thread at a time";
  constexpr int kThreads = 4;
  constexpr int kRounds = 60;
  std::atomic<int> good{0};
  std::vector<std::vector<Bytes>> contents(kThreads);
  for (auto& mine : contents) {
    for (int i = 0; i < kRounds; ++i)
      mine.push_back(random_bytes(random(1, i % 8 == 0 ? kMiB : 300)));
  }
  std::vector<std::thread> threads;
  for (auto& mine : contents) {
    threads.emplace_back([this, &mine, &good] {
      const auto own = device().create_queue();
      if (!own.ok()) return;
      for (Bytes& bytes : mine) {
        Bytes received(bytes.size(), kPoison);
        const auto buffer = device().allocate(bytes.size());
        if (!buffer.ok()) return;
        if (!write(*own, *buffer, bytes).ok() || !read(*own, *buffer, received).ok()) return;
        if (!device().free(*buffer).ok()) return;
        if (device().synchronize(*own).status.ok() && received == bytes) ++good;
      }
      (void)device().destroy_queue(*own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads * kRounds);
}

TEST_P(QueueTest, ADeviceGoesWhileCommandsAreUnderWay) {
  // The host memory lives longer than the device here. After its end, the device must not access
  // this memory or any other.
  auto made = GetParam().create(kMemoryBytes);
  ASSERT_TRUE(made.ok());
  Bytes contents = random_bytes(8 * kMiB);
  {
    const std::shared_ptr<Device> short_lived = std::move(made).value();
    const auto own = short_lived->create_queue();
    const auto buffer = short_lived->allocate(contents.size());
    ASSERT_TRUE(own.ok() && buffer.ok());
    for (int i = 0; i < 5; ++i) {
      const Layout source = Layout::bytes(contents.data(), contents.size());
      ASSERT_TRUE(
          short_lived->write(own.value(), buffer.value(), byte_region(contents.size()), source)
              .ok());
    }
  }
}

OB_OVER_ALL_DEVICES(QueueTest);

}  // namespace
}  // namespace ob::test
