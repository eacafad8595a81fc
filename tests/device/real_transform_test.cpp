// Compares the kernels around embedding transforms with FFTW's definitions (manual, sections 4.8.2
// to 4.8.5), summed in long double. The embedding is also a sum in long double, rounded once, so
// that all errors come from the kernels.
//
// Bound: the relative error in the 2-norm is below 32 2^-53 in double. A root from UnitRoots has an
// error below 5 2^-53, a product with it adds sqrt(5), and rounding the result adds 1. This gives
// 8.3 before and after the embedding, and 1 in it. The transforms are orthogonal up to a scale and
// a weight of sqrt(2) at the ends. In single precision the kernels compute in double: three
// roundings to 2^-24, 6 in all. Found: 2.0 and 2.0.

#include "device/real_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

using Numbers = std::vector<long double>;
using Bytes = std::vector<std::byte>;

constexpr std::byte kPoison{0xFF};  // a NaN in both precisions
constexpr std::size_t kGuardBytes = 32;

// cos and sin of 2 pi m / period for integers m.
class Turns {
 public:
  explicit Turns(std::uint64_t period) : cosines_(period), sines_(period) {
    for (std::uint64_t m = 0; m < period; ++m) {
      const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(m) /
                                static_cast<long double>(period);
      cosines_[m] = std::cos(angle);
      sines_[m] = std::sin(angle);
    }
  }
  long double cos(std::uint64_t m) const { return cosines_[m % cosines_.size()]; }
  long double sin(std::uint64_t m) const { return sines_[m % sines_.size()]; }

 private:
  Numbers cosines_;
  Numbers sines_;
};

std::uint64_t period_of(RealTransform real, std::uint64_t n) {
  switch (real) {
    case RealTransform::r2hc:
    case RealTransform::hc2r:
    case RealTransform::dht: return n;
    case RealTransform::redft00: return 2 * (n - 1);
    case RealTransform::rodft00: return 2 * (n + 1);
    case RealTransform::redft11:
    case RealTransform::rodft11: return 8 * n;
    default: return 4 * n;
  }
}

// Returns the factor of x_j in y_k.
long double weight(RealTransform real, const Turns& t, std::uint64_t n, std::uint64_t j,
                   std::uint64_t k) {
  const int alternating = k % 2 == 0 ? 1 : -1;
  switch (real) {
    case RealTransform::r2hc: return 2 * k <= n ? t.cos(j * k) : -t.sin(j * (n - k));
    case RealTransform::hc2r:
      if (j == 0 || 2 * j == n) return t.cos(j * k);
      return 2 * j < n ? 2 * t.cos(j * k) : -2 * t.sin((n - j) * k);
    case RealTransform::dht: return t.cos(j * k) + t.sin(j * k);
    case RealTransform::redft00:
      if (j == 0) return 1;
      return j == n - 1 ? alternating : 2 * t.cos(j * k);
    case RealTransform::redft10: return 2 * t.cos((2 * j + 1) * k);
    case RealTransform::redft01: return j == 0 ? 1 : 2 * t.cos(j * (2 * k + 1));
    case RealTransform::redft11: return 2 * t.cos((2 * j + 1) * (2 * k + 1));
    case RealTransform::rodft00: return 2 * t.sin((j + 1) * (k + 1));
    case RealTransform::rodft10: return 2 * t.sin((2 * j + 1) * (k + 1));
    case RealTransform::rodft01: return j == n - 1 ? alternating : 2 * t.sin((j + 1) * (2 * k + 1));
    case RealTransform::rodft11: return 2 * t.sin((2 * j + 1) * (2 * k + 1));
  }
  return 0;
}

Numbers defined(RealTransform real, const Numbers& x) {
  const std::uint64_t n = x.size();
  const Turns turns(period_of(real, n));
  Numbers y(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    for (std::uint64_t j = 0; j < n; ++j) y[k] += weight(real, turns, n, j, k) * x[j];
  }
  return y;
}

// Returns element j of the input of a plan of rank 1.
template <class Real>
std::pair<long double, long double> element(const FftPlan& plan, const Real* data,
                                            std::uint64_t j) {
  const std::uint64_t n = plan.n[0];
  if (plan.kind == FftKind::r2c) return {data[j], 0};
  const bool mirrored = plan.kind == FftKind::c2r && 2 * j > n;
  const std::uint64_t at = mirrored ? n - j : j;
  const bool is_real = plan.kind == FftKind::c2r && (j == 0 || 2 * j == n);
  const long double im = is_real ? 0 : data[2 * at + 1];
  return {data[2 * at], mirrored ? -im : im};
}

// Computes the embedding transform by its definition.
template <class Real>
void transform(const FftPlan& plan, const Real* in, Real* out) {
  const std::uint64_t n = plan.n[0];
  const Turns turns(n);
  const std::uint64_t results = plan.kind == FftKind::r2c ? n / 2 + 1 : n;
  for (std::uint64_t k = 0; k < results; ++k) {
    long double re = 0;
    long double im = 0;
    for (std::uint64_t j = 0; j < n; ++j) {
      const auto [a, b] = element(plan, in, j);
      const long double c = turns.cos(j * k);
      const long double s = plan.sign * turns.sin(j * k);
      re += a * c - b * s;
      im += a * s + b * c;
    }
    if (plan.kind == FftKind::c2r) {
      out[k] = static_cast<Real>(re);
    } else {
      out[2 * k] = static_cast<Real>(re);
      out[2 * k + 1] = static_cast<Real>(im);
    }
  }
}

bool all_poison(const std::byte* from, const std::byte* to) {
  return std::all_of(from, to, [](std::byte b) { return b == kPoison; });
}

template <class Real>
class RealTransformTest : public testing::Test {
 protected:
  static constexpr bool kSingle = sizeof(Real) == 4;
  static constexpr double kUnit = kSingle ? 0x1p-24 : 0x1p-53;
  static constexpr double kBound = kSingle ? 6 : 32;

  // Returns a line of n numbers. The rest of its memory is poison.
  Bytes line_of(std::uint64_t n, std::int64_t stride) {
    Bytes memory(n * static_cast<std::uint64_t>(stride) + 2 * kGuardBytes, kPoison);
    const StridedLine<Real> line{memory.data() + kGuardBytes, stride};
    for (std::uint64_t j = 0; j < n; ++j) {
      line.set_real(j, std::uniform_real_distribution(-1.0, 1.0)(random));
    }
    return memory;
  }

  static bool gaps_kept(const Bytes& memory, std::uint64_t n, std::int64_t stride) {
    const std::byte* at = memory.data();
    if (!all_poison(at, at + kGuardBytes)) return false;
    for (std::uint64_t j = 0; j < n; ++j) {
      const std::byte* element = at + kGuardBytes + static_cast<std::int64_t>(j) * stride;
      if (!all_poison(element + sizeof(Real), element + stride)) return false;
    }
    return all_poison(at + memory.size() - kGuardBytes, at + memory.size());
  }

  // Returns the relative error in units of rounding.
  double check(RealTransform real, std::uint64_t n) {
    const std::int64_t stride = sizeof(Real) * uniform(random, 1, 3);
    Bytes memory = line_of(n, stride);
    const Bytes before = memory;
    const StridedLine<Real> line{memory.data() + kGuardBytes, stride};
    Numbers x;
    for (std::uint64_t j = 0; j < n; ++j) x.push_back(line.real(j));
    const RealFolds folds(real, n);
    const FftPlan plan = embedding(real, n, kSingle ? Precision::c : Precision::z);
    Bytes input(input_bytes(plan) + kGuardBytes, kPoison);
    Bytes output(output_bytes(plan), kPoison);
    folds.fold_in(line, input.data());
    EXPECT_TRUE(memory == before);
    EXPECT_TRUE(all_poison(input.data() + input_bytes(plan), input.data() + input.size()));
    transform(plan, reinterpret_cast<const Real*>(input.data()),
              reinterpret_cast<Real*>(output.data()));
    for (std::uint64_t j = 0; j < n; ++j) std::fill_n(line.at(j), sizeof(Real), kPoison);
    folds.fold_out(output.data(), line);
    EXPECT_TRUE(gaps_kept(memory, n, stride));
    const Numbers right = defined(real, x);
    long double error = 0;
    long double norm = 0;
    for (std::uint64_t k = 0; k < n; ++k) {
      error += (line.real(k) - right[k]) * (line.real(k) - right[k]);
      norm += right[k] * right[k];
    }
    return static_cast<double>(std::sqrt(error / norm)) / kUnit;
  }

  std::mt19937_64 random = fresh_random();
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(RealTransformTest, Reals);

TYPED_TEST(RealTransformTest, EveryKindIsItsDefinition) {
  std::vector<std::uint64_t> lengths = {53, 64, 97, 101, 127, 128, 211, 251, 256, 300, 315, 331};
  for (std::uint64_t n = 1; n <= 40; ++n) lengths.push_back(n);
  double most = 0;
  for (int kind = 0; kind <= 10; ++kind) {
    const auto real = static_cast<RealTransform>(kind);
    for (const std::uint64_t n : lengths) {
      if (n == 1 && real == RealTransform::redft00) continue;  // it needs two ends
      const double found = this->check(real, n);
      ASSERT_LT(found, this->kBound) << "kind " << kind << " of " << n;
      most = std::max(most, found);
    }
  }
  std::printf("largest error: %.2f units of rounding\n", most);
}

TEST(RealEmbeddingTest, NoneIsLargerThanItMustBe) {
  for (std::uint64_t n = 2; n <= 40; ++n) {
    for (int kind = 0; kind <= 10; ++kind) {
      const auto real = static_cast<RealTransform>(kind);
      const FftPlan plan = embedding(real, n, Precision::z, 3);
      const bool doubles = real == RealTransform::redft00 || real == RealTransform::rodft00;
      EXPECT_LE(std::max(input_bytes(plan), output_bytes(plan)),
                3 * 8 * (doubles ? 2 * n + 4 : n + 2));
      EXPECT_EQ(plan.batch, 3u);
      EXPECT_FALSE(plan.in_place);
    }
  }
}

}  // namespace
}  // namespace ob::test
