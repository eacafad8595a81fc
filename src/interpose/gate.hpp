#pragma once
// The gate sends calls that are too small to be remote to the original at once.

#include <atomic>

namespace ob::interpose {

/// Calls with fewer floating-point operations than this go straight to the original, uncounted. The
/// value is 0 until the first call has read the configuration, so that call takes the slow path.
/// Then it is offload::Engine::least_flop(): +infinity in mode off; 0 in modes remote and trace or
/// with a report; in mode auto the size below which no accelerator can be faster.   Units: flop
extern constinit std::atomic<double> g_min_flops;

/// True if a call with so few operations goes to the original at once.   Cost: one load
inline bool is_small(double flops) noexcept {
  return flops < g_min_flops.load(std::memory_order_relaxed);
}

}  // namespace ob::interpose
