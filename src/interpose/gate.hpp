#pragma once
// The gate: calls that are too small to leave go to the original at once.

#include <atomic>

namespace ob::interpose {

/// Calls with fewer floating-point operations than this go straight to the original, uncounted. 0
/// until the first call has read the configuration (so that call takes the slow path), then
/// offload::Engine::least_flop(): mode off +infinity; remote, trace or with a report 0; auto the
/// size below which no accelerator can win.
extern constinit std::atomic<double> g_min_flops;

/// True if a call with so few operations goes to the original at once.   Cost: one load
inline bool is_small(double flops) noexcept {
  return flops < g_min_flops.load(std::memory_order_relaxed);
}

}  // namespace ob::interpose
