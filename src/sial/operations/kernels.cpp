#include "sial/operations/kernels.hpp"

#include "base/instruction_set.hpp"

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
#if defined(__x86_64__)
constexpr Kernels kForAvx2{ob_sial_product_avx2};
constexpr const Kernels* kAvx2 = &kForAvx2;
#else
constexpr const Kernels* kAvx2 = nullptr;
#endif

}  // namespace

const Kernels& kernels() noexcept {
  static const Kernels& chosen = fastest(kBaseline, kAvx2);
  return chosen;
}

const Kernels& baseline_kernels() noexcept { return kBaseline; }

}  // namespace ob::sial
