#pragma once
// Transforms of one FftPlan by FFTW's own plans.

#include <cstdint>
#include <memory>

#include "backend/cpu/fft_library.hpp"
#include "base/status.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

/// Plans for aligned arrays at once, and for others when they are first needed. Complex-to-real
/// transforms keep their input, and real ones work in place on packed rows, through scratch memory:
/// FFTW itself does neither.
/// Threads: one at a time
class CpuDensePlan {
 public:
  /// @pre plan.rank > 0
  CpuDensePlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads);
  ~CpuDensePlan();
  CpuDensePlan(const CpuDensePlan&) = delete;
  CpuDensePlan& operator=(const CpuDensePlan&) = delete;

  const FftPlan& plan() const noexcept { return plan_; }
  /// Makes the plan for aligned arrays.   Errors: unsupported, out_of_memory
  Status prepare();
  /// Transforms arrays of the sizes and places that were planned.
  /// Errors: unsupported, out_of_memory
  Status execute(std::byte* input, std::byte* output);

 private:
  Result<FftLibrary::Plan> make(unsigned flags, bool in_place) const;
  Result<FftLibrary::Plan> plan_for(void* input, void* output);
  Status run(void* input, void* output);

  const FftPlan plan_;
  const bool halves_;  // one side is a half spectrum: the two sides differ in size
  const std::shared_ptr<const FftLibrary> library_;
  const unsigned threads_;
  FftLibrary::Plan aligned_ = nullptr;
  FftLibrary::Plan unaligned_ = nullptr;
  std::shared_ptr<std::byte> scratch_;
};

}  // namespace ob::cpu
