#include "device/permute/moves.hpp"

#include "base/instruction_set.hpp"

namespace ob {
namespace {

using Move = void(double*, std::int64_t, const double*, std::int64_t, std::int64_t, std::int64_t,
                  double, int);
using Stream = void(double*, const double*, std::int64_t);
using Drain = void();

extern "C" {
Move ob_transpose_baseline, ob_runs_baseline;
Stream ob_stream_baseline;
Drain ob_drain_baseline;
#if defined(__x86_64__)
Move ob_transpose_avx2, ob_runs_avx2;
Stream ob_stream_avx2;
Drain ob_drain_avx2;
#endif
}

constexpr Moves kBaselineMoves{ob_transpose_baseline, ob_runs_baseline, ob_stream_baseline,
                               ob_drain_baseline};
#if defined(__x86_64__)
constexpr Moves kAvx2{ob_transpose_avx2, ob_runs_avx2, ob_stream_avx2, ob_drain_avx2};
constexpr const Moves* kAvx2Moves = &kAvx2;
#else
constexpr const Moves* kAvx2Moves = nullptr;
#endif

}  // namespace

const Moves& moves() noexcept {
  static const Moves& chosen = fastest(kBaselineMoves, kAvx2Moves);
  return chosen;
}

const Moves& baseline_moves() noexcept { return kBaselineMoves; }

}  // namespace ob
