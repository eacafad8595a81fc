#include "device/real_transform.hpp"

#include <type_traits>

#include "base/contract.hpp"
#include "device/detail/real_formulas.hpp"

namespace ob {
namespace {

template <RealTransform real>
using Constant = std::integral_constant<RealTransform, real>;

// Calls visit(Constant<real>{}).
template <class Visit>
void with_kind(RealTransform real, const Visit& visit) {
  switch (real) {
    case RealTransform::r2hc: return visit(Constant<RealTransform::r2hc>{});
    case RealTransform::hc2r: return visit(Constant<RealTransform::hc2r>{});
    case RealTransform::dht: return visit(Constant<RealTransform::dht>{});
    case RealTransform::redft00: return visit(Constant<RealTransform::redft00>{});
    case RealTransform::redft01: return visit(Constant<RealTransform::redft01>{});
    case RealTransform::redft10: return visit(Constant<RealTransform::redft10>{});
    case RealTransform::redft11: return visit(Constant<RealTransform::redft11>{});
    case RealTransform::rodft00: return visit(Constant<RealTransform::rodft00>{});
    case RealTransform::rodft01: return visit(Constant<RealTransform::rodft01>{});
    case RealTransform::rodft10: return visit(Constant<RealTransform::rodft10>{});
    case RealTransform::rodft11: return visit(Constant<RealTransform::rodft11>{});
  }
}

FftKind kind_of(RealTransform real, std::uint64_t n) noexcept {
  switch (real) {
    case RealTransform::hc2r:
    case RealTransform::redft01:
    case RealTransform::rodft01: return FftKind::c2r;
    case RealTransform::redft11:
    case RealTransform::rodft11: return n % 2 == 0 ? FftKind::c2c : FftKind::r2c;
    default: return FftKind::r2c;
  }
}

std::uint64_t length_of(RealTransform real, std::uint64_t n) noexcept {
  if (real == RealTransform::redft00) return 2 * (n - 1);
  if (real == RealTransform::rodft00) return 2 * (n + 1);
  return kind_of(real, n) == FftKind::c2c ? n / 2 : n;
}

}  // namespace

FftPlan embedding(RealTransform real, std::uint64_t n, Precision precision,
                  std::uint64_t batch) noexcept {
  OB_EXPECT(n >= (real == RealTransform::redft00 ? 2 : 1) && n <= kMaxPoints);
  OB_EXPECT(precision == Precision::c || precision == Precision::z);
  FftPlan plan;
  plan.kind = kind_of(real, n);
  plan.precision = precision;
  plan.sign = plan.kind == FftKind::c2r ? +1 : -1;
  plan.in_place = false;
  plan.rank = 1;
  plan.n[0] = length_of(real, n);
  plan.batch = batch;
  return plan;
}

RealFolds::RealFolds(RealTransform real, std::uint64_t n)
    : real_(real),
      n_(n),
      through_(embedding(real, n, Precision::z)),
      roots_(detail::root_order(real, n), +1) {
  OB_EXPECT(n >= (real == RealTransform::redft00 ? 2 : 1) && n <= kMaxPoints);
}

template <class Real>
void RealFolds::fold_in(const StridedLine<Real>& line, std::byte* input) const noexcept {
  const auto x = [&](std::uint64_t j) { return line.real(j); };
  const std::uint64_t length = through_.n[0];
  with_kind(real_, [&](auto real) {
    if (through_.kind == FftKind::r2c) {
      const StridedLine<Real> to{input, sizeof(Real)};
      for (std::uint64_t i = 0; i < length; ++i) {
        to.set_real(i, detail::real_input<real.value>(n_, x, i));
      }
      return;
    }
    const StridedLine<Real> to{input, 2 * sizeof(Real)};
    const std::uint64_t count = through_.kind == FftKind::c2r ? length / 2 + 1 : length;
    for (std::uint64_t i = 0; i < count; ++i) {
      to.set(i, detail::complex_input<real.value>(n_, x, roots_, i));
    }
  });
}

template <class Real>
void RealFolds::fold_out(const std::byte* output, const StridedLine<Real>& line) const noexcept {
  auto* const data =
      const_cast<std::byte*>(output);  // a StridedLine can be written; this one is only read
  with_kind(real_, [&](auto real) {
    if (through_.kind == FftKind::c2r) {
      const StridedLine<Real> from{data, sizeof(Real)};
      const auto f = [&](std::uint64_t j) { return from.real(j); };
      for (std::uint64_t k = 0; k < n_; ++k) {
        line.set_real(k, detail::from_real<real.value>(n_, f, k));
      }
      return;
    }
    const StridedLine<Real> from{data, 2 * sizeof(Real)};
    const auto f = [&](std::uint64_t j) { return from.complex(j); };
    for (std::uint64_t k = 0; k < n_; ++k) {
      line.set_real(k, detail::from_complex<real.value>(n_, f, roots_, k));
    }
  });
}

template void RealFolds::fold_in(const StridedLine<float>&, std::byte*) const noexcept;
template void RealFolds::fold_in(const StridedLine<double>&, std::byte*) const noexcept;
template void RealFolds::fold_out(const std::byte*, const StridedLine<float>&) const noexcept;
template void RealFolds::fold_out(const std::byte*, const StridedLine<double>&) const noexcept;

}  // namespace ob
