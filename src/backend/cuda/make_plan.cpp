#include "backend/cuda/make_plan.hpp"

#include "backend/cuda/dense_plan.hpp"
#include "backend/cuda/real_plan.hpp"
#include "base/contract.hpp"
#include "device/host_call.hpp"

namespace ob::cuda {

Result<std::unique_ptr<CudaFftPlan>> make_fft_plan(const Libraries& libraries,
                                                   const FftPlan& plan) {
  OB_EXPECT(check_plan(plan).ok());
  OB_ASSIGN_OR_RETURN(const FftTable* table, libraries.fft());
  if (plan.kind == FftKind::r2r) return RealPlan::create(*table, plan);
  return DensePlan::create(*table, plan);
}

// cuFFT's tables lie on the device.
std::uint64_t fft_plan_host_bytes(const FftPlan& /*plan*/) noexcept {
  return std::uint64_t{1} << 20;
}

}  // namespace ob::cuda
