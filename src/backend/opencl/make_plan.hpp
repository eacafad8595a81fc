#pragma once
// Chooses between VkFFT and the processor.

#include <cstdint>
#include <memory>

#include "backend/opencl/fft_plan.hpp"
#include "device/host_transforms.hpp"

namespace ob::opencl {

/// Makes a plan, which may take long. The processor computes real-to-real transforms, transforms of
/// more than three dimensions, those of double precision if the device has none, and those that
/// VkFFT cannot plan.
/// @param memory counts the device memory of plans, and outlives them
/// @param host the transforms of the processor, or nullptr
/// Threads: one at a time   Errors: unsupported; out_of_memory; device_error
/// @pre check_plan(plan).ok()
Result<std::unique_ptr<ClFftPlan>> make_fft_plan(const Accelerator& accelerator,
                                                 DeviceMemory& memory, const HostTransforms* host,
                                                 const FftPlan& plan);

/// Estimates the host memory that a plan takes [bytes].
std::uint64_t fft_plan_host_bytes(const HostTransforms* host, const FftPlan& plan) noexcept;

}  // namespace ob::opencl
