// Results of kernels, against loops on the host.

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

#include "conformance/kernels/setting.hpp"
#include "support/portable_kernels.hpp"

namespace ob::test {
namespace {

class KernelComputeTest : public KernelTest {};

std::uint32_t groups_for(std::size_t items, std::uint32_t group) {
  return static_cast<std::uint32_t>((items + group - 1) / group);
}

// No contraction of a * x + y is allowed, so the results are the host's, bit for bit.
double separately(double a, double x, double y) {
  const volatile double product = a * x;
  return product + y;
}

TEST_P(KernelComputeTest, OddSizesLeaveNeighboursAlone) {
  const ModuleId module = load(kAxpy);
  constexpr std::uint64_t kBefore = 4096;  // a multiple of every device's alignment of sub-buffers
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{65},
                                random(2, 3000), random(50000, 60000)}) {
    const std::uint64_t whole = kBefore + n * sizeof(double) + 256;
    const std::vector<double> x = doubles(n);
    const std::vector<double> y = doubles(n);
    const double a = uniform(-3, 3);
    const BufferId on_x = buffer_of(x);
    const BufferId on_y = allocate(Bytes(whole, kPoison));
    upload(on_y, std::as_bytes(std::span(y)), kBefore);
    const Status status =
        run(module, "axpy", {groups_for(n, 64), 1, 1}, {64, 1, 1},
            {number(a), memory(on_x), memory(on_y, kBefore, n * sizeof(double)), number(n)});
    ASSERT_TRUE(status.ok()) << status.message();
    const auto result = contents<double>(on_y, n, kBefore);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(result[i], separately(a, x[i], y[i])) << "element " << i << " of " << n;
    }
    EXPECT_EQ(download(on_y, kBefore), Bytes(kBefore, kPoison));
    EXPECT_EQ(download(on_y, 256, whole - 256), Bytes(256, kPoison));
    EXPECT_EQ(contents<double>(on_x, n), x);
  }
}

TEST_P(KernelComputeTest, TiledProductsAreThoseOfTheHost) {
  const ModuleId module = load(kProduct);
  for (const int n : {1, 7, 8, static_cast<int>(random(9, 70))}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const std::vector<double> a = doubles(size);
    const std::vector<double> b = doubles(size);
    const BufferId c = allocate(Bytes(size * sizeof(double), kPoison));
    const std::uint32_t groups = groups_for(static_cast<std::size_t>(n), 8);
    const Status status =
        run(module, "product", {groups, groups, 1}, {8, 8, 1},
            {number(n), memory(buffer_of(a)), memory(buffer_of(b)), memory(c), local(8 * 8 * 8)});
    ASSERT_TRUE(status.ok()) << status.message();
    const auto result = contents<double>(c, size);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < n; ++k) {
          sum = separately(a[static_cast<std::size_t>(i + n * k)],
                           b[static_cast<std::size_t>(k + n * j)], sum);
        }
        ASSERT_EQ(result[static_cast<std::size_t>(i + n * j)], sum)
            << i << ", " << j << " of " << n;
      }
    }
  }
}

TEST_P(KernelComputeTest, AtomicsLoseNothing) {
  const ModuleId module = load(kHistogram);
  const auto n = static_cast<std::uint32_t>(random(10000, 30000));
  const auto bins = static_cast<std::uint32_t>(random(1, 9));
  std::vector<std::uint32_t> values(n);
  std::vector<std::uint32_t> expected(bins);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random(0, UINT32_MAX));
  for (const std::uint32_t value : values) ++expected[value % bins];
  const BufferId counts = buffer_of(std::vector<std::uint32_t>(bins));
  const BufferId highest = buffer_of(std::vector<std::uint32_t>(1));
  const Status status =
      run(module, "histogram", {17, 1, 1}, {32, 1, 1},
          {memory(buffer_of(values)), number(n), memory(counts), number(bins), memory(highest)});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents<std::uint32_t>(counts, bins), expected);
  EXPECT_EQ(contents<std::uint32_t>(highest, 1)[0],
            *std::max_element(values.begin(), values.end()));
}

TEST_P(KernelComputeTest, WorkItemsKnowTheirPlaces) {
  const ModuleId module = load(kPlaces);
  const Extents groups{static_cast<std::uint32_t>(random(1, 5)), 3, 2};
  const Extents size{4, static_cast<std::uint32_t>(random(1, 5)), 2};
  const Extents all{groups[0] * size[0], groups[1] * size[1], groups[2] * size[2]};
  const std::size_t count = std::size_t{all[0]} * all[1] * all[2];
  const BufferId out = allocate(Bytes(count * 4, kPoison));
  const Status status = run(module, "places", groups, size, {memory(out)});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto result = contents<std::uint32_t>(out, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place[3] = {i % all[0], i / all[0] % all[1], i / all[0] / all[1]};
    std::uint32_t code = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      code = code * 7 + static_cast<std::uint32_t>(place[d] % size[d]);
      code = code * 11 + static_cast<std::uint32_t>(place[d] / size[d]);
      code = code * 7 + size[d];
      code = code * 11 + groups[d];
    }
    ASSERT_EQ(result[i], code + 3) << i;
  }
}

TEST_P(KernelComputeTest, VectorsHaveTheirParts) {
  const ModuleId module = load(kVectors);
  const auto n = static_cast<std::uint32_t>(random(1, 100));
  std::vector<float> v(n * 4);
  for (float& x : v) x = static_cast<float>(uniform(-1, 1));
  const std::vector<double> w = doubles(n * 2);
  const BufferId on_v = buffer_of(v);
  const BufferId out = allocate(Bytes(n * 8, kPoison));
  const Status status = run(module, "turn", {groups_for(n, 16), 1, 1}, {16, 1, 1},
                            {memory(on_v), memory(buffer_of(w)), memory(out), number(n)});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto turned = contents<float>(on_v, n * 4);
  const auto products = contents<double>(out, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(turned[4 * i + k], v[4 * i + (k + 3) % 4]);
    EXPECT_EQ(products[i], (w[2 * i] + 1.0) * (w[2 * i + 1] + 2.0));
  }
}

template <class To, class From>
To as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST_P(KernelComputeTest, FunctionsAreThoseOfTheHost) {
  const ModuleId module = load(kFunctions);
  std::vector<std::uint32_t> in(4);
  for (std::uint32_t& x : in) x = static_cast<std::uint32_t>(random(0, UINT32_MAX));
  const std::vector<std::int32_t> factors{7, -static_cast<std::int32_t>(random(1, 1000))};
  const BufferId out = allocate(Bytes(16 * 8, kPoison));
  const Status status = run(module, "functions", {1, 1, 1}, {4, 1, 1},
                            {memory(buffer_of(in)), memory(out), memory(buffer_of(factors))});
  ASSERT_TRUE(status.ok()) << status.message();
  const std::uint32_t a = in[0];
  const std::uint32_t b = in[1];
  const float f = static_cast<float>(a) * 0.25F;
  const double d = static_cast<double>(b) * 0.125;
  const auto bits = [](double x) { return as<std::uint64_t>(x); };
  const std::vector<std::uint64_t> expected{
      in[0] + in[1] + in[2] + in[3],
      static_cast<std::uint64_t>(std::popcount(a)) +
          100 * static_cast<std::uint64_t>(std::popcount(std::uint64_t{b})),
      static_cast<std::uint64_t>(std::countl_zero(a | 1)) +
          100 * static_cast<std::uint64_t>(std::countl_zero(std::uint64_t{b} | 1)),
      as<std::uint32_t>(f),
      bits(d),
      as<std::uint32_t>(f),
      (a & 255) + (f > 1e6F ? 3u : 2u),
      std::max(a, b) - std::min(a, b),
      std::clamp(a, 1000u, 2000u),
      bits(std::fma(d, d, -1.0)),
      bits(std::floor(d) + std::ceil(d) + std::rint(d) + std::trunc(d) + std::fabs(-d) +
           std::fmin(d, 1.0)),
      bits(std::sqrt(d)),
      static_cast<std::uint64_t>(std::int64_t{factors[1]}),
      bits(3.14159265358979323846) ^ as<std::uint32_t>(FLT_MAX) ^ 2147483647u,
      1,
      UINT64_MAX};  // the poison
  EXPECT_EQ(contents<std::uint64_t>(out, 16), expected);
}

TEST_P(KernelComputeTest, VectorsHaveOperators) {
  const ModuleId module = load(kVectorOperators);
  std::vector<std::int32_t> v(12);
  for (std::int32_t& x : v) x = static_cast<std::int32_t>(random(0, 2000)) - 1000;
  std::vector<double> w = doubles(6);
  w[2] += 4;  // no zero
  w[3] += 4;
  const BufferId on_v = buffer_of(v);
  const BufferId on_w = buffer_of(w);
  const Status status =
      run(module, "operators", {1, 1, 1}, {1, 1, 1}, {memory(on_v), memory(on_w)});
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int32_t sum =
        (v[i] + v[4 + i] + static_cast<std::int32_t>(i) + 1 - v[4 + i] * 3) / 2;
    v[8 + i] = 5 - sum * -v[i];
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const double product = separately(w[i], w[2 + i], -2.0);
    w[4 + i] = -(1.0 + product / w[2 + i]);
  }
  EXPECT_EQ(contents<std::int32_t>(on_v, 12), v);
  EXPECT_EQ(contents<double>(on_w, 6), w);
}

TEST_P(KernelComputeTest, EveryAtomicCounts) {
  const ModuleId module = load(kAtomics);
  const BufferId s = buffer_of(std::vector<std::int32_t>{10, 10, 10, 10, -10, 10});
  const BufferId u = buffer_of(std::vector<std::uint32_t>{0, UINT32_MAX, 0xF0, 40, 5});
  const Status status = run(module, "atomics", {1, 1, 1}, {32, 1, 1}, {memory(s), memory(u)});
  ASSERT_TRUE(status.ok()) << status.message();
  constexpr std::int32_t kSum = 31 * 32 / 2;
  EXPECT_EQ(contents<std::int32_t>(s, 6),
            (std::vector<std::int32_t>{42, -22, 10 - kSum, -31, 31, kSum}));
  // No work-item finds its own number in the fourth.
  EXPECT_EQ(contents<std::uint32_t>(u, 5),
            (std::vector<std::uint32_t>{UINT32_MAX, 0, UINT32_MAX ^ 0xF0, 40, 77}));
}

OB_OVER_KERNEL_DEVICES(KernelComputeTest);

}  // namespace
}  // namespace ob::test
