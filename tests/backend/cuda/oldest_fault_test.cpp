// A device failure after a refused command. This is a program of its own, like fault_test.cpp.

#include "backend/cuda/held_device.hpp"

namespace ob::cuda {
namespace {

using FaultTest = FaultyDeviceTest;

// A command that is refused at submission may be younger than a failure that the device reports
// later.
TEST_F(FaultTest, TheOldestIsTold) {
  const QueueId on = queue();
  const std::uint64_t earlier = warm_up(on);
  const auto [a, b] = buffers<2>();
  const auto calls = standin_cuda_calls("cublasDgemm");
  standin_cuda_watch("cublasDgemm");
  standin_cuda_fail("cublasDgemm@run:1,cublasDgemm:2");
  multiply(on, a, a, b);  // fails on the device
  multiply(on, a, a, b);  // refused before that
  expect_called("cublasDgemm", calls + 1);
  standin_cuda_release();
  const QueueReport report = device_->synchronize(on);
  EXPECT_EQ(report.status.code(), Code::device_error) << report.status.message();
  EXPECT_EQ(report.failed_command, earlier + 1);
}

}  // namespace
}  // namespace ob::cuda
