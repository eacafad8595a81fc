// A kernel of a program fails while it runs. CUDA then fails for the whole process, therefore this
// is a program of its own.

#include <cmath>

#include "backend/cuda/held_device.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"

namespace ob::cuda {
namespace {

using KernelFaultTest = FaultyDeviceTest;

TEST_F(KernelFaultTest, NamesTheKernel) {
  const QueueId on = queue();
  const BufferId a = buffer();
  const ModuleId module = *device_->load_module(
      {{{SourceKind::portable,
         "__kernel void add(__global double* x, double a) { x[get_global_id(0)] += a; }", ""}},
       ""},
      {});
  const double one = 1;
  const KernelArgument arguments[] = {{ParameterKind::buffer, 0, nullptr, {a, 0}, 0},
                                      {ParameterKind::scalar, 8, &one, {}, 0}};
  const KernelLaunch launch{module, "add", {1, 1, 1}, {kElements, 1, 1}, arguments};
  write(on, a, 1);
  EXPECT_TRUE(device_->launch(on, launch).ok());
  const auto before = read(on, a);
  EXPECT_TRUE(device_->synchronize(on).status.ok());
  EXPECT_EQ(*before, 2);
  standin_cuda_fail("cuLaunchKernel@run:1");
  EXPECT_TRUE(device_->launch(on, launch).ok());  // command 4
  const auto after = read(on, a);
  const QueueReport report = device_->synchronize(on);
  EXPECT_EQ(report.status.code(), Code::kernel_fault) << report.status.message();
  EXPECT_NE(report.status.message().find("kernel add"), std::string::npos)
      << report.status.message();
  EXPECT_EQ(report.failed_command, 4u);
  EXPECT_TRUE(std::isnan(*after));
}

}  // namespace
}  // namespace ob::cuda
