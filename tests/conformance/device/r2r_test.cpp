// Compares real-to-real transforms with their definitions (FFTW 3.3 manual, sections 4.8.2 to
// 4.8.5) in long double, dimension by dimension. The tolerance is that of fft_test.cpp. RODFT00 and
// REDFT00 have the logical size 2 (n +- 1), and FFTW's algorithms for them lose up to sqrt(n)
// (manual, section 4.8.3).

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "conformance/device/dense.hpp"
#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

using Line = std::vector<long double>;
constexpr long double kPi = std::numbers::pi_v<long double>;

long double real_part_of_spectrum(const Line& x, std::size_t k) {
  long double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += x[j] * std::cos(2 * kPi * static_cast<long double>(j * k % x.size()) /
                           static_cast<long double>(x.size()));
  }
  return sum;
}

long double imaginary_part_of_spectrum(const Line& x, std::size_t k) {
  long double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum -= x[j] * std::sin(2 * kPi * static_cast<long double>(j * k % x.size()) /
                           static_cast<long double>(x.size()));
  }
  return sum;
}

// Returns element k of the half-complex format r0 r1 ... r(n/2) i((n+1)/2-1) ... i1.
long double r2hc(const Line& x, std::size_t k) {
  return k <= x.size() / 2 ? real_part_of_spectrum(x, k)
                           : imaginary_part_of_spectrum(x, x.size() - k);
}

// Returns the real signal of a spectrum in half-complex format, not normalised.
long double hc2r(const Line& x, std::size_t k) {
  const std::size_t n = x.size();
  long double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t mirrored = std::min(j, n - j);
    const long double re = x[mirrored];
    const bool has_imaginary = j != 0 && 2 * j != n;
    const long double im = has_imaginary ? (j <= n / 2 ? x[n - j] : -x[j]) : 0.0L;
    const long double angle =
        2 * kPi * static_cast<long double>(j * k % n) / static_cast<long double>(n);
    sum += re * std::cos(angle) - im * std::sin(angle);
  }
  return sum;
}

long double dht(const Line& x, std::size_t k) {
  return real_part_of_spectrum(x, k) - imaginary_part_of_spectrum(x, k);
}

// Returns twice the sum of x_j f(pi (j + a)(k + b) / period).
template <class F>
long double twice(const Line& x, std::size_t k, long double a, long double b, long double period,
                  F f) {
  long double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    sum += 2 * x[j] *
           f(kPi * (static_cast<long double>(j) + a) * (static_cast<long double>(k) + b) / period);
  }
  return sum;
}

long double element(RealTransform kind, const Line& x, std::size_t k) {
  const auto n = static_cast<long double>(x.size());
  const long double alternating = k % 2 == 0 ? 1 : -1;
  const auto cosine = [](long double angle) { return std::cos(angle); };
  const auto sine = [](long double angle) { return std::sin(angle); };
  switch (kind) {
    case RealTransform::r2hc: return r2hc(x, k);
    case RealTransform::hc2r: return hc2r(x, k);
    case RealTransform::dht: return dht(x, k);
    case RealTransform::redft00:  // the ends count once
      return twice(x, k, 0, 0, n - 1, cosine) - x.front() - alternating * x.back();
    case RealTransform::redft10: return twice(x, k, 0.5L, 0, n, cosine);
    case RealTransform::redft01: return twice(x, k, 0, 0.5L, n, cosine) - x.front();
    case RealTransform::redft11: return twice(x, k, 0.5L, 0.5L, n, cosine);
    case RealTransform::rodft00: return twice(x, k, 1, 1, n + 1, sine);
    case RealTransform::rodft10: return twice(x, k, 0.5L, 1, n, sine);
    case RealTransform::rodft01: return twice(x, k, 1, 0.5L, n, sine) - alternating * x.back();
    case RealTransform::rodft11: return twice(x, k, 0.5L, 0.5L, n, sine);
  }
  return 0;
}

Line transformed(const FftPlan& plan, Line data) {
  std::size_t stride = 1;
  for (int d = plan.rank - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    const std::size_t count = plan.n[at];
    for (std::size_t first = 0; first < data.size(); ++first) {
      if (first / stride % count != 0) continue;
      Line line(count);
      for (std::size_t j = 0; j < count; ++j) line[j] = data[first + j * stride];
      for (std::size_t k = 0; k < count; ++k)
        data[first + k * stride] = element(plan.real[at], line, k);
    }
    stride *= count;
  }
  return data;
}

std::string describe(const FftPlan& plan) {
  std::ostringstream text;
  text << (plan.precision == Precision::c ? "single" : "double")
       << (plan.in_place ? " in place" : " out of place") << " batch " << plan.batch;
  for (std::size_t i = 0; i < plan.rank; ++i)
    text << " kind " << int(plan.real[i]) << " of " << plan.n[i];
  return text.str();
}

class RealToRealTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !GetParam().computes)
      GTEST_SKIP() << GetParam().name << " computes nothing";
  }

  FftPlan random_plan(RealTransform kind) {
    FftPlan plan;
    plan.kind = FftKind::r2r;
    plan.precision = random(0, 1) == 0 ? Precision::c : Precision::z;
    plan.in_place = random(0, 1) == 0;
    plan.rank = static_cast<std::uint8_t>(random(1, 3));
    plan.batch = random(1, 3);
    for (std::size_t i = 0; i < plan.rank; ++i) {
      plan.n[i] = random(2, plan.rank == 1 ? 40 : 9);
      plan.real[i] = i == 0 ? kind : static_cast<RealTransform>(random(0, 10));
    }
    return plan;
  }

  void check(const FftPlan& plan) {
    const Precision real = plan.precision == Precision::c ? Precision::s : Precision::d;
    const std::size_t bytes = element_bytes(real);
    Bytes input(input_bytes(plan));
    Line data(input.size() / bytes);
    for (std::size_t i = 0; i < data.size(); ++i) {
      store(real, &input[i * bytes], Wide(uniform(-1, 1)));
      data[i] = load(real, &input[i * bytes]).real();
    }
    const BufferId from = allocate(input);
    const BufferId to = plan.in_place ? from : allocate(Bytes(input.size(), kPoison));
    const auto made = device().make_plan(plan);
    ASSERT_TRUE(made.ok()) << describe(plan) << ": " << made.status().message();
    const Status status = outcome(device().execute(queue(), *made, {from, 0}, {to, 0}));
    ASSERT_TRUE(status.ok()) << describe(plan) << ": " << status.message();
    const Bytes after = download(to, input.size());
    if (!plan.in_place) {
      EXPECT_TRUE(download(from, input.size()) == input) << describe(plan) << ": input changed";
      EXPECT_TRUE(device().free(to).ok());
    }
    const Line right = transformed(plan, data);
    long double error = 0;
    long double size = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      const long double got = load(real, &after[i * bytes]).real();
      error += (got - right[i]) * (got - right[i]);
      size += right[i] * right[i];
    }
    const auto n = static_cast<long double>(points(plan));
    const long double epsilon = plan.precision == Precision::c ? 1.2e-7L : 2.3e-16L;
    EXPECT_LE(std::sqrt(error), 4 * std::sqrt(n) * (1 + std::log2(n)) * epsilon * std::sqrt(size))
        << describe(plan);
    EXPECT_TRUE(device().destroy_plan(*made).ok());
    EXPECT_TRUE(device().free(from).ok());
  }
};

TEST_P(RealToRealTest, EveryKindIsItsDefinition) {
  for (int kind = 0; kind <= 10; ++kind) {
    for (int round = 0; round < 12; ++round) check(random_plan(static_cast<RealTransform>(kind)));
  }
}

TEST_P(RealToRealTest, ImpossibleKindsAreRefused) {
  FftPlan plan;
  plan.kind = FftKind::r2r;
  plan.rank = 1;
  plan.n[0] = 1;
  plan.real[0] = RealTransform::redft00;  // it needs two ends
  const auto made = device().make_plan(plan);
  const Status status = made.ok()
                            ? outcome(device().execute(queue(), *made, {allocate(Bytes(8)), 0}, {}))
                            : made.status();
  EXPECT_FALSE(status.ok());
}

OB_OVER_ALL_DEVICES(RealToRealTest);
INSTANTIATE_TEST_SUITE_P(without_r2r, RealToRealTest, testing::Values(device_without_r2r()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace ob::test
