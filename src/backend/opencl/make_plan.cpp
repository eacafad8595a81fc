#include "backend/opencl/make_plan.hpp"

#include "backend/opencl/device_plan.hpp"
#include "backend/opencl/processor_plan.hpp"
#include "base/contract.hpp"
#include "device/host_call.hpp"

namespace ob::opencl {

Result<std::unique_ptr<ClFftPlan>> make_fft_plan(const Accelerator& accelerator,
                                                 DeviceMemory& memory, const HostTransforms* host,
                                                 const FftPlan& plan) {
  OB_EXPECT(check_plan(plan).ok());
  if (DevicePlan::takes(accelerator, plan)) {
    auto made = DevicePlan::create(accelerator, memory, plan);
    if (made.ok() || made.status().code() != Code::unsupported || host == nullptr) return made;
  }
  return ProcessorPlan::create(host, plan);
}

// VkFFT writes, and the driver compiles, a program of some 100 KB for each dimension.
std::uint64_t fft_plan_host_bytes(const HostTransforms* host, const FftPlan& plan) noexcept {
  constexpr std::uint64_t kProgramBytes = std::uint64_t{2} << 20;
  return kProgramBytes + (host == nullptr ? 0 : host->plan_bytes(plan));
}

}  // namespace ob::opencl
