#include "sial/operations/kernels.hpp"

namespace ob::sial {
namespace {

using Product = void(std::int64_t, std::int64_t, std::int64_t, double, const double*, std::int64_t,
                     const double*, std::int64_t, std::int64_t, double, double*, std::int64_t);

extern "C" {
Product ob_sial_product_baseline;
#if defined(__x86_64__)
Product ob_sial_product_avx2;
#endif
}

constexpr Kernels kBaseline{ob_sial_product_baseline};

const Kernels& choose_kernels() noexcept {
#if defined(__x86_64__)
  static constexpr Kernels kAvx2{ob_sial_product_avx2};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
  return kBaseline;
}

}  // namespace

const Kernels& kernels() noexcept {
  static const Kernels& chosen = choose_kernels();
  return chosen;
}

const Kernels& baseline_kernels() noexcept { return kBaseline; }

}  // namespace ob::sial
