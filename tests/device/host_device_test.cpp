// Tests the inside of a device, which tests/conformance/device cannot: the thread that runs a
// command, and the commands that are refused at once.
#include "device/host_device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace ob {
namespace {

class BareDevice final : public HostDevice {
 public:
  BareDevice() : HostDevice({.backend = "bare", .description = "", .memory_bytes = 64 << 20}) {}
  ~BareDevice() override { finish_queues(); }
  Status call(QueueId, const Descriptor&, const Argument*) override { return absent(); }
  Result<PlanId> make_plan(const FftPlan&, const Account&) override { return absent(); }
  Status destroy_plan(PlanId) override { return absent(); }
  Status execute(QueueId, PlanId, BufferRef, BufferRef) override { return absent(); }

 private:
  static Status absent() { return {Code::unsupported, "not in this test"}; }
};

class HostDeviceTest : public testing::Test {
 protected:
  // Holds the queue until `go` reaches zero.
  static void hold(Device& device, QueueId queue, EventId event, QueueId helper, std::latch& go) {
    const BufferId buffer = device.allocate(32 << 20).value();
    const Region half{.rows = 16 << 20, .cols = 1, .ld = 16 << 20};
    Region other = half;
    other.offset_bytes = 16 << 20;
    ASSERT_TRUE(device.copy(helper, buffer, half, buffer, other).ok());  // too large to run at once
    ASSERT_TRUE(device.on_reached(helper, false, [&go](const QueueReport&) { go.wait(); }).ok());
    ASSERT_TRUE(device.record(helper, event).ok());
    ASSERT_TRUE(device.wait(queue, event).ok());
  }
  BareDevice device_;
  QueueId queue_ = device_.create_queue().value();
};

TEST_F(HostDeviceTest, SubmittingDoesNotWaitForAnEvent) {
  const QueueId helper = device_.create_queue().value();
  const EventId event = device_.create_event().value();
  std::latch go(1);
  hold(device_, queue_, event, helper, go);
  const BufferId buffer = device_.allocate(8).value();
  std::byte bytes[8] = {std::byte{9}};
  const Region region{.rows = 8, .cols = 1, .ld = 8};
  ASSERT_TRUE(device_.write(queue_, buffer, region, Layout::bytes(bytes, 8)).ok());
  EXPECT_EQ(*device_.host_view(buffer), std::byte{0});  // the write is held
  go.count_down();
  EXPECT_TRUE(device_.synchronize(queue_).status.ok());
  EXPECT_EQ(*device_.host_view(buffer), std::byte{9});
}

TEST_F(HostDeviceTest, AWaitHoldsForTheRecordItSaw) {
  const QueueId helper = device_.create_queue().value();
  const QueueId third = device_.create_queue().value();
  const EventId event = device_.create_event().value();
  std::latch go(1);
  hold(device_, queue_, event, helper, go);
  // Another queue records the event again, and is done at once. The wait is for the first record.
  ASSERT_TRUE(device_.record(third, event).ok());
  ASSERT_TRUE(device_.synchronize(third).status.ok());
  std::atomic<bool> reached{false};
  ASSERT_TRUE(device_.on_reached(queue_, false, [&](const QueueReport&) { reached = true; }).ok());
  EXPECT_FALSE(reached);
  go.count_down();
  EXPECT_TRUE(device_.synchronize(queue_).status.ok());
  EXPECT_TRUE(reached);
}

TEST_F(HostDeviceTest, OnlyAnUnknownQueueIsRefusedAtOnce) {
  std::byte bytes[8];
  const Layout layout = Layout::bytes(bytes, 8);
  const Region region{.rows = 8, .cols = 1, .ld = 8};
  EXPECT_EQ(device_.write(QueueId{99}, BufferId{99}, region, layout).code(),
            Code::invalid_argument);
  EXPECT_TRUE(device_.write(queue_, BufferId{99}, region, layout).ok());
  const QueueReport report = device_.synchronize(queue_);
  EXPECT_EQ(report.status.code(), Code::invalid_argument);
  EXPECT_EQ(report.failed_command, 1u);
}

TEST_F(HostDeviceTest, SizesOfBothSidesMustAgree) {
  const BufferId buffer = device_.allocate(64).value();
  std::byte bytes[64];
  const Region region{.rows = 8, .cols = 1, .ld = 8};
  ASSERT_TRUE(device_.write(queue_, buffer, region, Layout::bytes(bytes, 9)).ok());
  EXPECT_EQ(device_.synchronize(queue_).status.code(), Code::invalid_argument);
  ASSERT_TRUE(device_.read(queue_, buffer, region, Layout::bytes(bytes, 7)).ok());
  EXPECT_EQ(device_.synchronize(queue_).status.code(), Code::invalid_argument);
  const Region longer{.rows = 9, .cols = 1, .ld = 9};
  ASSERT_TRUE(device_.copy(queue_, buffer, region, buffer, longer).ok());
  EXPECT_EQ(device_.synchronize(queue_).status.code(), Code::invalid_argument);
}

}  // namespace
}  // namespace ob
