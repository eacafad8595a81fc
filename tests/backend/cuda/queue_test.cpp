// Queues submit without waiting, and report nothing before the device is done. The stand-in holds
// work up, so that what waits and what does not is seen without a clock.

#include <atomic>
#include <cmath>

#include "backend/cuda/held_device.hpp"

namespace ob::cuda {
namespace {

using QueueTest = HeldDeviceTest;

TEST_F(QueueTest, CommandsDoNotWaitForThoseBefore) {
  const QueueId on = queue();
  warm_up(on);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const BufferId c = buffer();
  const auto ones = filled(1);
  const auto result = pinned();
  standin_cuda_watch("cublasDgemm");
  write(on, a, ones);
  multiply(on, a, a, b);  // all 8
  multiply(on, a, b, c);  // all 64
  multiply(on, a, c, b);  // all 512
  read(on, b, result.get());
  EXPECT_TRUE(eventually([] {
    return standin_cuda_held() == 1 && standin_cuda_waiting("cublasDgemm") == 2 &&
           standin_cuda_waiting("cudaMemcpyAsync") == 1;
  }));
  EXPECT_TRUE(std::isnan(*result));
  standin_cuda_release();
  const QueueReport report = device_->synchronize(on);
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_GT(report.compute_ns, 0U);
  for (std::uint64_t i = 0; i < kElements; ++i) EXPECT_EQ(result.get()[i], 512) << i;
}

TEST_F(QueueTest, CopiesOfOneQueueRunWhileAnotherComputes) {
  const QueueId computing = queue();
  const QueueId copying = queue();
  warm_up(computing);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const BufferId c = buffer();
  const auto twos = filled(2);
  standin_cuda_watch("cublasDgemm,cudaMemcpyAsync");
  multiply(computing, a, a, b);
  write(copying, c, twos);
  EXPECT_TRUE(eventually([] { return standin_cuda_held() == 2; }));
  standin_cuda_release();
  EXPECT_TRUE(device_->synchronize(computing).status.ok());
  EXPECT_TRUE(device_->synchronize(copying).status.ok());
  EXPECT_EQ(standin_cuda_overlaps("cublasDgemm", "cudaMemcpyAsync"), 1U);
}

TEST_F(QueueTest, OneQueueComputesAtATime) {
  const QueueId first = queue();
  const QueueId second = queue();
  warm_up(first);
  warm_up(second);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const BufferId c = buffer();
  standin_cuda_watch("");
  for (int round = 0; round < 20; ++round) {
    multiply(first, a, a, b);
    multiply(second, a, a, c);
  }
  EXPECT_TRUE(device_->synchronize(first).status.ok());
  EXPECT_TRUE(device_->synchronize(second).status.ok());
  EXPECT_EQ(standin_cuda_overlaps("cublasDgemm", "cublasDgemm"), 0U);
}

TEST_F(QueueTest, AQueueWaitsForAnotherInItsStream) {
  const QueueId computing = queue();
  const QueueId copying = queue();
  warm_up(computing);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const auto ones = filled(1);
  const auto result = pinned();
  const auto event = device_->create_event();
  ASSERT_TRUE(event.ok());
  write(computing, a, ones);
  ASSERT_TRUE(device_->synchronize(computing).status.ok());
  standin_cuda_watch("cublasDgemm");
  multiply(computing, a, a, b);
  EXPECT_TRUE(device_->record(computing, *event).ok());
  EXPECT_TRUE(device_->wait(copying, *event).ok());
  read(copying, b, result.get());
  EXPECT_TRUE(eventually(
      [] { return standin_cuda_held() == 1 && standin_cuda_waiting("cudaMemcpyAsync") == 1; }));
  standin_cuda_release();
  EXPECT_TRUE(device_->synchronize(copying).status.ok());
  EXPECT_EQ(*result, 8);
  EXPECT_TRUE(device_->synchronize(computing).status.ok());
}

TEST_F(QueueTest, NobodyHearsOfACommandBeforeItsEnd) {
  const QueueId on = queue();
  warm_up(on);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const auto ones = filled(1);
  const auto result = pinned();
  std::atomic<int> heard{0};
  standin_cuda_watch("cublasDgemm");
  write(on, a, ones);
  EXPECT_TRUE(device_->on_reached(on, false, [&](const QueueReport&) { heard = 1; }).ok());
  multiply(on, a, a, b);
  read(on, b, result.get());
  double seen = 0;
  EXPECT_TRUE(device_
                  ->on_reached(on, false,
                               [&](const QueueReport&) {
                                 seen = *result;
                                 heard = 2;
                               })
                  .ok());
  // What is before the computation is heard of while that one is held.
  EXPECT_TRUE(eventually([&] { return heard == 1 && standin_cuda_held() == 1; }));
  EXPECT_TRUE(eventually([] { return standin_cuda_waiting("cudaMemcpyAsync") == 1; }));
  EXPECT_EQ(heard, 1);
  standin_cuda_release();
  EXPECT_TRUE(device_->synchronize(on).status.ok());
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(seen, 8);
}

// As the daemon answers a read: from another queue, while this one is held.
TEST_F(QueueTest, WhatIsBehindACallbackWaitsUntilItReturned) {
  const QueueId on = queue();
  const QueueId other = queue();
  const BufferId a = buffer();
  const auto ones = filled(1);
  const auto twos = filled(2);
  const auto seen = pinned();
  const auto result = pinned();
  write(on, a, ones);
  const auto read_elsewhere = [&](const QueueReport&) {
    read(other, a, seen.get());
    EXPECT_TRUE(device_->synchronize(other).status.ok());
  };
  EXPECT_TRUE(device_->on_reached(on, false, read_elsewhere).ok());
  write(on, a, twos);
  read(on, a, result.get());
  EXPECT_TRUE(device_->synchronize(on).status.ok());
  EXPECT_EQ(*seen, 1);
  EXPECT_EQ(*result, 2);
}

TEST_F(QueueTest, FreedMemoryStaysUntilTheStreamHasPassed) {
  const QueueId on = queue();
  warm_up(on);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const auto ones = filled(1);
  const auto result = pinned();
  write(on, a, ones);
  ASSERT_TRUE(device_->synchronize(on).status.ok());
  const std::uint64_t used_bytes = device_->memory_use().used_bytes;
  standin_cuda_watch("cublasDgemm");
  multiply(on, a, a, b);
  read(on, b, result.get());
  EXPECT_TRUE(device_->free(a).ok());
  EXPECT_TRUE(device_->free(b).ok());
  EXPECT_TRUE(eventually([] { return standin_cuda_held() == 1; }));
  EXPECT_EQ(device_->memory_use().used_bytes, used_bytes);
  const BufferId other = buffer();  // cleaned: not what the computation still reads
  standin_cuda_release();
  EXPECT_TRUE(device_->synchronize(on).status.ok());
  EXPECT_EQ(*result, 8);
  EXPECT_LT(device_->memory_use().used_bytes, used_bytes);
  EXPECT_TRUE(device_->free(other).ok());
}

TEST_F(QueueTest, AnIdleQueueKeepsNoWorkspace) {
  const QueueId on = queue();
  const BufferId a = buffer();
  const BufferId info = buffer();
  const Descriptor& potrf = *routines::find("dpotrf");
  Argument arguments[kMaxArguments];
  test::argument_named(arguments, potrf, "uplo").flag = 'L';
  test::argument_named(arguments, potrf, "n").dim = kN;
  test::argument_named(arguments, potrf, "a").device = {a, 0, kN};
  test::argument_named(arguments, potrf, "info").device = {info, 0, 0};
  const std::uint64_t used_bytes = device_->memory_use().used_bytes;
  EXPECT_TRUE(device_->call(on, potrf, arguments).ok());
  const QueueReport report = device_->synchronize(on);
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_EQ(device_->memory_use().used_bytes, used_bytes);
  const auto rest = device_->allocate(device_->info().memory_bytes - used_bytes);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_TRUE(device_->free(*rest).ok());
}

// A call that cannot be submitted is known at once: what follows is skipped, what came before is
// not.
TEST_F(QueueTest, ACallThatIsRefusedFailsAloneAndEndsTheQueueUntilItIsHeard) {
  const QueueId on = queue();
  const std::uint64_t before = warm_up(on);
  const BufferId a = buffer();
  const BufferId b = buffer();
  const auto ones = filled(1);
  const auto result = pinned();
  const auto untouched = pinned();
  ASSERT_TRUE(device_->synchronize(on).status.ok());
  standin_cuda_fail("cublasDgemm:2");
  write(on, a, ones);
  multiply(on, a, a, b);         // the second
  read(on, b, result.get());     // the third
  multiply(on, a, b, b);         // the fourth fails
  read(on, b, untouched.get());  // skipped
  const QueueReport report = device_->synchronize(on);
  standin_cuda_fail_no_more();
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, before + 4);
  EXPECT_EQ(*result, 8);
  EXPECT_TRUE(std::isnan(*untouched));
  read(on, b, untouched.get());
  EXPECT_TRUE(device_->synchronize(on).status.ok());
  EXPECT_EQ(*untouched, 8);
}

}  // namespace
}  // namespace ob::cuda
