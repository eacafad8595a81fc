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
/// off, and for problems that can never leave. It is open while no server is usable, because one
/// may be there at a later execution. A local answer never blocks long. Callers test the gate
/// first. `original` is a function of the library that would run the transform locally.
FftDecision decide_fft(const FftTransform&, FftMoment moment, const void* original) noexcept;

/// Tells the daemon to plan now. A failure has no effect, because the first run plans again.
/// Nothing tells the daemon that a plan was destroyed: the number of plans of a connection is
/// bounded, and programs often ask for the same plan again.
void plan_ahead(const FftTransform&) noexcept;

/// Runs the transform. True if results are in place. Memory that is both input and output changes
/// only on success. A connection that lacks the plan makes it.
/// Threads: any, also several on one plan
bool execute_fft(const FftTransform&, void* input, void* output) noexcept;

/// Runs the transform on an accelerator, to measure it, and drops the output.
void rehearse_fft(const FftTransform&, void* input, void* output) noexcept;

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
