#pragma once
// The FFTW entries use these functions to reach the engine of the process. They cover the decision,
// the plan on the accelerator, the run, and the count of local runs.

#include <cstdint>

#include "offload/fft_transform.hpp"

namespace ob::interpose {

using offload::FftDecision;
using offload::FftMoment;
using offload::FftSide;
using offload::FftTransform;

/// Decides at plan time, and at every execute of a plan that is open. The answer is local in mode
/// off, for problems below the gate, and if no server is usable. A local answer never blocks long.
/// `original` is a function of the library that would run the transform locally.
FftDecision decide_fft(const FftTransform&, FftMoment moment, const void* original) noexcept;

/// Tells the daemon to plan now and returns an opaque remote plan handle (0 if that failed).
std::uint64_t plan_ahead(const FftTransform&) noexcept;

/// Forgets a plan that was destroyed. 0 is ignored.
void forget_plan(std::uint64_t handle) noexcept;

/// Runs the transform. True if results are in place. Memory that is both input and output changes
/// only on success. A transform with an unknown handle (0, or one from before a fork) is planned
/// again.
/// Threads: any, also several on one plan
bool execute_fft(const FftTransform&, std::uint64_t handle, void* input, void* output) noexcept;

/// Spans the native run of a known plan, so that the engine counts it and learns from it. It is
/// like Call of interpose/call.hpp.
class LocalFft {
 public:
  LocalFft(const FftTransform&, const void* original) noexcept;
  ~LocalFft();
  LocalFft(const LocalFft&) = delete;
  LocalFft& operator=(const LocalFft&) = delete;

 private:
  const FftTransform& transform_;
  std::uint64_t started_ns_ = 0;
  bool counted_ = false;
};

}  // namespace ob::interpose
