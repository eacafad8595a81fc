// Queues submit without waiting, and report nothing before the device is done. The stand-in holds
// work, so that the tests see waits without a clock.

#include <atomic>
#include <cmath>
#include <functional>

#include "backend/cuda/held_device.hpp"

namespace ob::cuda {
namespace {

using QueueTest = HeldDeviceTest;

TEST_F(QueueTest, CommandsDoNotWaitForThoseBefore) {
  const QueueId on = warm_queue();
  const auto [a, b, c] = buffers<3>();
  standin_cuda_watch("cublasDgemm");
  write(on, a, 1);
  multiply(on, a, a, b);  // all elements are 8
  multiply(on, a, b, c);  // all elements are 64
  multiply(on, a, c, b);  // all elements are 512
  const auto result = read(on, b);
  expect_held(1, "cublasDgemm", 2);
  expect_held(1, "cudaMemcpyAsync", 1);
  EXPECT_TRUE(std::isnan(*result));
  standin_cuda_release();
  EXPECT_GT(pass(on).compute_ns, 0U);
  EXPECT_EQ(pass(on).compute_ns, 0U);  // reported once
  for (std::uint64_t i = 0; i < kElements; ++i) EXPECT_EQ(result.get()[i], 512) << i;
}

TEST_F(QueueTest, CopiesOfOneQueueRunWhileAnotherComputes) {
  const QueueId computing = warm_queue();
  const QueueId copying = queue();
  const auto [a, b, c] = buffers<3>();
  standin_cuda_watch("cublasDgemm,cudaMemcpyAsync");
  multiply(computing, a, a, b);
  write(copying, c, 2);
  expect_held(2);
  standin_cuda_release();
  pass(computing);
  pass(copying);
  EXPECT_EQ(standin_cuda_overlaps("cublasDgemm", "cudaMemcpyAsync"), 1U);
}

TEST_F(QueueTest, OneQueueComputesAtATime) {
  const QueueId first = warm_queue();
  const QueueId second = warm_queue();
  const auto [a, b, c] = buffers<3>();
  const auto waits = standin_cuda_calls("cudaStreamSynchronize");
  standin_cuda_watch("cublasDgemm");
  for (int round = 0; round < 20; ++round) {
    multiply(first, a, a, b);
    multiply(second, a, a, c);
  }
  expect_called("cudaStreamSynchronize", waits);  // waits for the turn of the other queue
  expect_held(1);
  standin_cuda_release();
  pass(first);
  pass(second);
  EXPECT_EQ(standin_cuda_overlaps("cublasDgemm", "cublasDgemm"), 0U);
}

TEST_F(QueueTest, AQueueWaitsForAnotherInItsStream) {
  const QueueId computing = warm_queue();
  const QueueId copying = queue();
  const auto [a, b] = buffers<2>();
  write(computing, a, 1);
  pass(computing);
  standin_cuda_watch("cublasDgemm");
  multiply(computing, a, a, b);
  expect_held(1);
  order(computing, copying);
  const auto result = read(copying, b);
  expect_held(1, "cudaMemcpyAsync", 1);
  standin_cuda_release();
  pass(copying);
  EXPECT_EQ(*result, 8);
  pass(computing);
}

TEST_F(QueueTest, NobodyHearsOfACommandBeforeItsEnd) {
  const QueueId on = warm_queue();
  const auto [a, b] = buffers<2>();
  std::atomic<int> heard{0};
  standin_cuda_watch("cublasDgemm");
  write(on, a, 1);
  on_reached(on, [&] { heard = 1; });
  multiply(on, a, a, b);
  const auto result = read(on, b);
  double seen = 0;
  on_reached(on, [&] {
    seen = *result;
    heard = 2;
  });
  // Commands before the computation are reported while it is held.
  EXPECT_TRUE(eventually([&] { return heard == 1; }));
  expect_held(1, "cudaMemcpyAsync", 1);
  EXPECT_EQ(heard, 1);
  standin_cuda_release();
  pass(on);
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(seen, 8);
}

// Answers like the daemon does: from another queue, while this one is held.
TEST_F(QueueTest, WhatIsBehindACallbackWaitsUntilItReturned) {
  const QueueId on = queue();
  const QueueId other = queue();
  const BufferId a = buffer();
  std::shared_ptr<double> seen;
  write(on, a, 1);
  on_reached(on, [&] {
    seen = read(other, a);
    pass(other);
  });
  write(on, a, 2);
  const auto result = read(on, a);
  pass(on);
  EXPECT_EQ(*seen, 1);
  EXPECT_EQ(*result, 2);
}

// Submits like the daemon's connections do: callbacks answer them.
TEST_F(QueueTest, WhoSubmitsBehindACallbackDoesNotWaitForIt) {
  const QueueId on = queue();
  const QueueId other = queue();
  const BufferId a = buffer();
  const auto behind_callback = [&](const std::function<void()>& submit) {
    std::atomic<bool> submitted{false};
    standin_cuda_watch("cudaMemcpyAsync");
    write(on, a, 1);
    on_reached(on, [&] { EXPECT_TRUE(eventually([&] { return submitted.load(); })); });
    standin_cuda_release();
    submit();
    submitted = true;
    pass(on);
    pass(other);
  };
  behind_callback([&] { write(on, a, 2); });
  behind_callback([&] { order(on, other); });
}

TEST_F(QueueTest, AnEventBehindACallbackIsReachedWhenThatReturned) {
  const QueueId on = queue();
  const QueueId other = queue();
  const QueueId third = queue();
  const BufferId a = buffer();
  std::shared_ptr<double> seen;
  standin_cuda_watch("cudaMemcpyAsync");
  write(on, a, 1);
  on_reached(on, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // for a queue that cannot wait
    seen = read(third, a);
    pass(third);
  });
  order(on, other);
  write(other, a, 2);
  standin_cuda_release();
  pass(other);
  pass(on);
  EXPECT_EQ(*seen, 1);
}

TEST_F(QueueTest, FreedMemoryStaysUntilTheStreamHasPassed) {
  const QueueId on = warm_queue();
  const auto [a, b] = buffers<2>();
  write(on, a, 1);
  pass(on);
  const std::uint64_t used_bytes = device_->memory_use().used_bytes;
  standin_cuda_watch("cublasDgemm");
  multiply(on, a, a, b);
  const auto result = read(on, b);
  EXPECT_TRUE(device_->free(a).ok());
  EXPECT_TRUE(device_->free(b).ok());
  EXPECT_TRUE(eventually([] { return standin_cuda_held() == 1; }));
  EXPECT_EQ(device_->memory_use().used_bytes, used_bytes);
  const BufferId other = buffer();  // cleaned; not the memory that the computation reads
  standin_cuda_release();
  pass(on);
  EXPECT_EQ(*result, 8);
  EXPECT_LT(device_->memory_use().used_bytes, used_bytes);
  EXPECT_TRUE(device_->free(other).ok());
}

TEST_F(QueueTest, AnIdleQueueKeepsNoWorkspace) {
  const QueueId on = queue();
  const auto [a, info] = buffers<2>();
  const std::uint64_t used_bytes = device_->memory_use().used_bytes;
  factorize(on, a, info);
  pass(on);
  EXPECT_EQ(device_->memory_use().used_bytes, used_bytes);
  const auto rest = device_->allocate(device_->info().memory_bytes - used_bytes);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_TRUE(device_->free(*rest).ok());
}

// The libraries' objects of a device must be destroyed while that device is current.
TEST_F(QueueTest, QueuesAndPlansGoOnAnyThread) {
  const QueueId on = warm_queue();
  const BufferId a = buffer();
  const PlanId idle = made_plan();
  const PlanId used = made_plan();
  EXPECT_TRUE(device_->execute(on, idle, {a}, {a}).ok());
  pass(on);
  std::thread([&] { EXPECT_TRUE(device_->destroy_plan(idle).ok()); }).join();
  standin_cuda_watch("cudaMemcpyAsync");
  write(on, a, 1);
  EXPECT_TRUE(device_->execute(on, used, {a}, {a}).ok());
  EXPECT_TRUE(device_->destroy_plan(used).ok());  // destroyed when the stream has passed
  standin_cuda_release();
  pass(on);
  std::thread([&] { EXPECT_TRUE(device_->destroy_queue(on).ok()); }).join();
}

TEST_F(QueueTest, AWorkspaceStaysUntilTheStreamHasPassed) {
  const QueueId on = queue();
  const auto [a, b] = buffers<2>();
  const PlanId plan = made_plan();
  EXPECT_TRUE(device_->execute(on, plan, {a}, {a}).ok());
  pass(on);
  const std::uint64_t used_bytes = device_->memory_use().used_bytes;
  standin_cuda_watch("cudaMemcpyAsync");
  write(on, a, 1);
  EXPECT_TRUE(device_->execute(on, plan, {a}, {a}).ok());
  const auto behind = read(on, b);
  expect_held(1, "cudaMemcpyAsync", 1);
  EXPECT_GT(device_->memory_use().used_bytes, used_bytes);
  standin_cuda_release();
  pass(on);
  EXPECT_EQ(device_->memory_use().used_bytes, used_bytes);
}

TEST_F(QueueTest, AWorkspaceWaitsForMemoryThatIsStillInUse) {
  const QueueId on = queue();
  const auto [a, b, info] = buffers<3>();
  factorize(on, b, info);
  pass(on);
  const auto rest =
      device_->allocate(device_->info().memory_bytes - device_->memory_use().used_bytes);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  standin_cuda_watch("cudaMemcpyAsync");
  EXPECT_TRUE(device_->copy(on, *rest, whole(), a, whole()).ok());
  EXPECT_TRUE(device_->free(*rest).ok());
  expect_held(1);
  const auto calls = standin_cuda_calls("cusolverDnXpotrf_bufferSize");
  factorize(on, b, info);
  expect_called("cusolverDnXpotrf_bufferSize", calls);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // for a queue that cannot wait
  standin_cuda_release();
  pass(on);
}

// The queue waits for such a command at once, since later it cannot wait for it.
TEST_F(QueueTest, ACommandThatCannotBeMarkedFailsWhenItHasPassed) {
  const QueueId on = queue();
  const QueueId other = queue();
  const BufferId a = buffer();
  write(on, a, 1);
  pass(on);
  standin_cuda_fail("cudaEventRecord:1");
  write(on, a, 2);
  QueueReport report = device_->synchronize(on);
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, 2U);
  const auto result = read(other, a);
  pass(other);
  EXPECT_EQ(*result, 2);
  standin_cuda_fail("cudaEventRecord:1");
  order(on, other);
  pass(other);  // the event is reached all the same
  report = device_->synchronize(on);
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, 3U);
  standin_cuda_fail_no_more();
}

TEST_F(QueueTest, ACallIsAsExactAsWasAskedBeforeIt) {
  const QueueId on = queue();
  const auto [a, b] = buffers<2>();
  const char* const exact = "cublasSetMathMode@pedantic";
  const auto before = standin_cuda_calls(exact);
  standin_cuda_watch("cudaMemcpyAsync");
  write(on, a, 1);
  on_reached(on, [] {});
  multiply(on, a, a, b);  // submitted to the stream after the callback has returned
  EXPECT_TRUE(device_->set_accuracy(on, Accuracy::strict).ok());
  multiply(on, a, a, b);
  standin_cuda_release();
  pass(on);
  EXPECT_EQ(standin_cuda_calls(exact), before + 1);
  EXPECT_TRUE(device_->record(on, EventId{}).ok());  // there is no such event: command 4 fails
  EXPECT_TRUE(device_->set_accuracy(on, Accuracy::standard).ok());
  EXPECT_EQ(device_->synchronize(on).failed_command, 4U);
  multiply(on, a, a, b);
  pass(on);
  EXPECT_EQ(standin_cuda_calls(exact), before + 1);
}

// A call that cannot be submitted fails at once. Later commands are skipped, earlier ones are not.
TEST_F(QueueTest, ACallThatIsRefusedFailsAloneAndEndsTheQueueUntilItIsHeard) {
  const QueueId on = queue();
  const QueueId other = queue();
  const std::uint64_t before = warm_up(on);
  const auto [a, b, c, d, e] = buffers<5>();
  const auto calls = standin_cuda_calls("cublasDgemm");
  standin_cuda_fail("cublasDgemm:2");
  write(on, a, 1);
  multiply(on, a, a, b);               // command 2
  const auto result = read(on, b);     // command 3
  multiply(on, a, b, e);               // command 4 fails
  const auto untouched = read(on, b);  // skipped
  expect_called("cublasDgemm", calls + 1);
  multiply(other, c, c, d);
  pass(other);  // the failed call holds no turn
  const QueueReport report = device_->synchronize(on);
  standin_cuda_fail_no_more();
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, before + 4);
  EXPECT_EQ(*result, 8);
  EXPECT_TRUE(std::isnan(*untouched));
  read(on, b, untouched.get());
  pass(on);
  EXPECT_EQ(*untouched, 8);
}

}  // namespace
}  // namespace ob::cuda
