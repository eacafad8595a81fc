#include "backend/cuda/fft_plan.hpp"

#include "backend/cuda/dense_plan.hpp"
#include "backend/cuda/real_plan.hpp"

namespace ob::cuda {

Result<std::unique_ptr<CudaFftPlan>> CudaFftPlan::make(const Libraries& libraries, int /*device*/,
                                                       const FftPlan& plan) {
  OB_ASSIGN_OR_RETURN(const FftTable* table, libraries.fft());
  if (plan.kind == FftKind::r2r) return RealPlan::create(*table, plan);
  return DensePlan::create(*table, plan);
}

// cuFFT's tables lie on the device.
std::uint64_t CudaFftPlan::host_bytes(const FftPlan& /*plan*/) noexcept {
  return std::uint64_t{1} << 20;
}

}  // namespace ob::cuda
