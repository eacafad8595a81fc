#pragma once
// Transforms of one FftPlan by a library with FFTW's interface.

#include <cstdint>
#include <memory>

#include "backend/cpu/dense_plan.hpp"
#include "backend/cpu/fft_library.hpp"
#include "backend/cpu/real_plan.hpp"
#include "base/status.hpp"
#include "device/host_event.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

/// By the library's own plans, or by way of others: real-to-real transforms that it lacks.
/// Threads: build() once; wait() any; execute() by one thread at a time
class CpuFftPlan {
 public:
  CpuFftPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads);
  CpuFftPlan(const CpuFftPlan&) = delete;
  CpuFftPlan& operator=(const CpuFftPlan&) = delete;

  const FftPlan& plan() const noexcept { return plan_; }
  /// About what a plan and its scratch memory take at most.   @pre check_plan() accepts it
  static std::uint64_t host_bytes(const FftPlan& plan) noexcept;
  /// Plans, then lets execute() go on.
  void build();
  bool built() const noexcept { return built_.done(); }
  /// Waits for build(); adds the time it waited to plan_ns.
  Status wait(std::uint64_t& plan_ns);
  /// @pre wait() was ok; arrays as planned   Errors: out_of_memory, device_error
  Status execute(std::byte* input, std::byte* output);

 private:
  Status prepare();

  const FftPlan plan_;
  const std::shared_ptr<const FftLibrary> library_;
  const unsigned threads_;
  EventMark built_;
  Status build_status_;
  std::unique_ptr<CpuDensePlan> dense_;  // one of the two
  std::unique_ptr<CpuRealPlan> real_;
};

}  // namespace ob::cpu
