#pragma once
// Chooses among the kinds of plans.

#include <cstdint>
#include <memory>

#include "backend/cuda/fft_plan.hpp"
#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// Makes a plan, which may take long.
/// @pre check_plan(plan).ok()
/// Threads: any, with the device current
/// Errors: unsupported; unavailable without the library; out_of_memory; device_error
Result<std::unique_ptr<CudaFftPlan>> make_fft_plan(const Libraries& libraries, const FftPlan& plan);

/// Estimates the host memory that a plan takes [bytes].
std::uint64_t fft_plan_host_bytes(const FftPlan& plan) noexcept;

}  // namespace ob::cuda
