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

/// Uses the library's own plans, or other transforms for the real-to-real ones that it lacks.
/// Threads: build() once; wait() any; execute() by one thread at a time
class CpuFftPlan {
 public:
  CpuFftPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads);
  CpuFftPlan(const CpuFftPlan&) = delete;
  CpuFftPlan& operator=(const CpuFftPlan&) = delete;

  const FftPlan& plan() const noexcept { return plan_; }
  /// Returns an upper estimate of the memory of a plan and its scratch memory.
  /// @param plan one that check_plan() accepts
  static std::uint64_t host_bytes(const FftPlan& plan) noexcept;
  /// Makes the plan and ends wait().
  void build();
  bool built() const noexcept { return built_.done(); }
  /// Waits for build(); adds the waiting time to plan_ns.
  Status wait(std::uint64_t& plan_ns);
  /// Transforms arrays of the sizes and places that were planned, after wait() was ok.
  /// Errors: out_of_memory, device_error
  /// @pre built()
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
