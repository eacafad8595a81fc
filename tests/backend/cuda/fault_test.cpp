// A device fails while it computes. CUDA then fails for the whole process, therefore this is a
// program of its own.

#include <atomic>
#include <cmath>

#include "backend/cuda/held_device.hpp"

namespace ob::cuda {
namespace {

using FaultTest = FaultyDeviceTest;

TEST_F(FaultTest, IsThatOfTheCallAndNothingBehindItIsTakenForAResult) {
  const QueueId on = queue();
  const QueueId other = queue();
  const std::uint64_t earlier = warm_up(on);
  const auto [a, b] = buffers<2>();
  std::vector<double> pageable(kElements, 7);
  write(on, a, 1);                  // command 1
  const auto before = read(on, a);  // command 2
  pass(on);
  standin_cuda_watch("cublasDgemm");
  standin_cuda_fail("cublasDgemm@run:1");
  multiply(on, a, a, b);  // command 3 fails on the device after all are submitted
  multiply(on, a, a, b);
  const auto after = read(on, b);
  order(on, other);
  EXPECT_TRUE(eventually([] { return standin_cuda_waiting("cudaMemcpyAsync") == 1; }));
  standin_cuda_release();
  std::atomic<bool> failed{false};
  const auto hear = [&](const QueueReport& so_far) { failed = !so_far.status.ok(); };
  EXPECT_TRUE(device_->on_reached(on, false, hear).ok());
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  order(on, other);  // no event can be recorded any more
  const QueueReport report = device_->synchronize(on);
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, earlier + 3);
  EXPECT_EQ(*before, 1);
  EXPECT_TRUE(std::isnan(*after));
  // A queue that waits for a failed one does not wait forever. It reports the failure itself.
  read(other, b, pageable.data());
  EXPECT_FALSE(device_->synchronize(other).status.ok());
  EXPECT_EQ(pageable, std::vector<double>(kElements, 7));
  // The queue does not recover by itself, either: the device is lost.
  multiply(on, a, a, b);
  EXPECT_FALSE(device_->synchronize(on).status.ok());
}

}  // namespace
}  // namespace ob::cuda
