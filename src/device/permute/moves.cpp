#include "device/permute/moves.hpp"

namespace ob {
namespace {

using Move = void(double*, std::int64_t, const double*, std::int64_t, std::int64_t, std::int64_t,
                  double, int);

extern "C" {
Move ob_transpose_baseline;
Move ob_runs_baseline;
#if defined(__x86_64__)
Move ob_transpose_avx2;
Move ob_runs_avx2;
#endif
}

constexpr Moves kBaselineMoves{ob_transpose_baseline, ob_runs_baseline};

const Moves& choose_moves() noexcept {
#if defined(__x86_64__)
  static constexpr Moves kAvx2{ob_transpose_avx2, ob_runs_avx2};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
  return kBaselineMoves;
}

}  // namespace

const Moves& moves() noexcept {
  static const Moves& chosen = choose_moves();
  return chosen;
}

const Moves& baseline_moves() noexcept { return kBaselineMoves; }

}  // namespace ob
