#pragma once
// The choice between inner loops for the baseline processor and those for AVX2 and FMA.

namespace ob {

/// True if this processor runs the files that ob_add_kernels() compiles for AVX2 and FMA.
inline bool has_avx2() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

/// Returns the fastest of two sets of loops that this processor can run.
/// @param avx2 nullptr: there are none for this architecture
template <class Loops>
const Loops& fastest(const Loops& baseline, const Loops* avx2) noexcept {
  return avx2 != nullptr && has_avx2() ? *avx2 : baseline;
}

}  // namespace ob
