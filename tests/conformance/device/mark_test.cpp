// Marks: the progress of a queue, the device's clock, and failures that stay.

#include <condition_variable>
#include <mutex>
#include <vector>

#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

class MarkTest : public DeviceTest {
 protected:
  // The marks in the order in which they came, possibly on another thread.
  std::function<void(const QueueMark&)> receiver() {
    return [this](const QueueMark& mark) {
      const std::lock_guard lock(mutex_);
      marks_.push_back(mark);
      changed_.notify_all();
    };
  }
  QueueMark wait_for(std::size_t index) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return marks_.size() > index; });
    return marks_[index];
  }
  Status write(BufferId to, Bytes& contents) {
    return device().write(queue(), to, byte_region(contents.size()),
                          Layout::bytes(contents.data(), contents.size()));
  }
  // Submits a command that fails. Devices differ in the mistakes that they find before: returns
  // false if this one finds both.
  bool submit_failure(QueueId on, BufferId buffer, Bytes& contents) {
    const Region beyond = byte_region(contents.size(), std::uint64_t{1} << 40);
    const Layout source = Layout::bytes(contents.data(), contents.size());
    return device().write(on, buffer, beyond, source).ok() ||
           device().execute(on, PlanId{424242}, {buffer, 0}, {buffer, 0}).ok();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<QueueMark> marks_;
};

TEST_P(MarkTest, ComesAfterWhatWasSubmitted) {
  constexpr std::uint64_t kSize = 8 * kMiB;
  const BufferId buffer = allocate(kSize);
  Bytes contents = random_bytes(kSize);
  Bytes received(kSize, kPoison);
  ASSERT_TRUE(write(buffer, contents).ok());
  ASSERT_TRUE(device()
                  .read(queue(), buffer, byte_region(kSize), Layout::bytes(received.data(), kSize))
                  .ok());
  ASSERT_TRUE(device().mark(queue(), receiver()).ok());
  const QueueMark mark = wait_for(0);
  EXPECT_TRUE(mark.report.status.ok()) << mark.report.status.message();
  // A mapped buffer is copied out when the queue is synchronized.
  ASSERT_TRUE(device().synchronize(queue()).status.ok());
  EXPECT_TRUE(received == contents);
}

TEST_P(MarkTest, TheClockGoesForward) {
  const BufferId buffer = allocate(kMiB);
  Bytes contents = random_bytes(kMiB);
  std::uint64_t last = 0;
  for (std::size_t round = 0; round < 20; ++round) {
    ASSERT_TRUE(write(buffer, contents).ok());
    ASSERT_TRUE(device().mark(queue(), receiver()).ok());
    const QueueMark mark = wait_for(round);
    EXPECT_GT(mark.clock_ns, last) << "round " << round;
    last = mark.clock_ns;
  }
}

TEST_P(MarkTest, AFailureStays) {
  const BufferId buffer = allocate(64);
  Bytes contents = random_bytes(64);
  ASSERT_TRUE(write(buffer, contents).ok());
  ASSERT_TRUE(submit_failure(queue(), buffer, contents));
  for (std::size_t round = 0; round < 2; ++round) {
    ASSERT_TRUE(device().mark(queue(), receiver()).ok());
    const QueueMark mark = wait_for(round);
    EXPECT_EQ(mark.report.status.code(), Code::invalid_argument);
    EXPECT_FALSE(mark.report.status.message().empty());
  }
  const std::uint64_t failed = wait_for(0).report.failed_command;
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(wait_for(1).report.failed_command, failed) << "a mark has no number";
  const QueueReport report = device().synchronize(queue());
  EXPECT_EQ(report.status.code(), Code::invalid_argument);
  EXPECT_EQ(report.failed_command, failed);
  ASSERT_TRUE(device().mark(queue(), receiver()).ok());
  EXPECT_TRUE(wait_for(2).report.status.ok());
}

TEST_P(MarkTest, CountsAsNoCommand) {
  const auto fresh = device().create_queue();
  ASSERT_TRUE(fresh.ok());
  const BufferId buffer = allocate(64);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(device().mark(*fresh, receiver()).ok());
  Bytes contents = random_bytes(64);
  ASSERT_TRUE(submit_failure(*fresh, buffer, contents));
  EXPECT_EQ(device().synchronize(*fresh).failed_command, 1u);
}

TEST_P(MarkTest, AnUnknownQueueIsRefused) {
  EXPECT_FALSE(device().mark(QueueId{424242}, [](const QueueMark&) {}).ok());
}

OB_OVER_ALL_DEVICES(MarkTest);

}  // namespace
}  // namespace ob::test
