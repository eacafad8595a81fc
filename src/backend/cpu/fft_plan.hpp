#pragma once
// One FFTW plan for one FftPlan.

#include <cstdint>
#include <memory>

#include "backend/cpu/fft_library.hpp"
#include "base/status.hpp"
#include "device/host_buffer.hpp"
#include "device/host_event.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

class CpuRealPlan;

/// Planned for aligned arrays; a second plan for others is made when first needed. Complex-to-real
/// transforms keep their input, and real ones work in place on packed rows, through scratch memory:
/// FFTW itself does neither. Real-to-real ones that the library lacks go by way of others.
/// Threads: build() once; wait() any; execute() by one thread at a time
class CpuFftPlan {
 public:
  CpuFftPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads);
  ~CpuFftPlan();
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
  Result<FftLibrary::Plan> make(unsigned flags, bool in_place) const;
  Result<FftLibrary::Plan> plan_for(void* input, void* output);
  Status run(void* input, void* output);

  const FftPlan plan_;
  const bool halves_;  // one side is a half spectrum: the two sides differ in size
  const std::shared_ptr<const FftLibrary> library_;
  const unsigned threads_;
  EventMark built_;
  Status build_status_;
  FftLibrary::Plan aligned_ = nullptr;
  FftLibrary::Plan unaligned_ = nullptr;
  std::shared_ptr<HostBuffer> scratch_;
  std::unique_ptr<CpuRealPlan> by_others_;  // instead of plans of its own
};

}  // namespace ob::cpu
