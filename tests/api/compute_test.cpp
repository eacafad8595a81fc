// Routines and transforms, against loops, residuals and a direct sum.

#include <array>
#include <cmath>
#include <numbers>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using Vector = std::vector<double>;

Vector random_vector(std::mt19937_64& random, std::size_t count) {
  std::uniform_real_distribution<double> numbers(-1, 1);
  Vector vector(count);
  for (double& x : vector) x = numbers(random);
  return vector;
}

class ApiComputeTest : public ApiTest {};

// C <- alpha A' B + beta C inside larger matrices, whose other elements stay.
TEST_P(ApiComputeTest, DgemmFollowsTheLoops) {
  auto random = fresh_random();
  const std::int64_t m = uniform(random, 1, 60), n = uniform(random, 1, 60);
  const std::int64_t k = uniform(random, 1, 60);
  const std::int64_t lda = k + 3, ldb = k + 1, ldc = m + 5;
  const auto elements = [](std::int64_t ld, std::int64_t cols) {
    return static_cast<std::size_t>(ld * cols);
  };
  const Vector a = random_vector(random, elements(lda, m));
  const Vector b = random_vector(random, elements(ldb, n));
  const Vector c = random_vector(random, elements(ldc, n) + 1);
  Vector expected = c;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) sum += a[p + i * lda] * b[p + j * ldb];
      expected[1 + i + j * ldc] = 0.5 * sum - 2 * c[1 + i + j * ldc];
    }
  }
  const ob_buffer da = buffer_of(a), db = buffer_of(b), dc = buffer_of(c);
  const std::array operands{flag('t'), flag('N'),   number(m),   number(n), number(k),
                            real(0.5), at(da, lda), at(db, ldb), real(-2),  at(dc, ldc, 8)};
  ASSERT_TRUE(succeeds(ob_call(queue, "dgemm", operands.data(), operands.size())));
  const Vector result = contents<double>(dc, c.size());
  for (std::size_t i = 0; i < c.size(); ++i) {
    // |error| <= k eps |a||b| + eps |beta c| with |a|, |b|, |c| <= 1; twice that for both sides
    const bool inside = i > 0 && static_cast<std::int64_t>((i - 1) % ldc) < m;
    const double bound = inside ? (2.0 * k + 6) * 2.3e-16 : 0;
    ASSERT_NEAR(result[i], expected[i], bound) << "element " << i;
  }
}

// ||b - A x|| <= 10 n eps ||A|| ||x||: the backward error of LU with partial pivoting without
// growth, times ten (Higham, Accuracy and Stability, theorem 9.4).
TEST_P(ApiComputeTest, DgesvLeavesASmallResidual) {
  auto random = fresh_random();
  const std::int64_t n = uniform(random, 2, 80);
  const Vector a = random_vector(random, static_cast<std::size_t>(n * n));
  const Vector b = random_vector(random, static_cast<std::size_t>(n));
  const ob_buffer da = buffer_of(a), db = buffer_of(b);
  const ob_buffer pivots = buffer(static_cast<std::uint64_t>(n) * 8), info = buffer(8);
  const std::array operands{number(n), number(1), at(da, n), at(pivots), at(db, n), at(info)};
  ASSERT_TRUE(succeeds(ob_call(queue, "dgesv", operands.data(), operands.size())));
  ASSERT_EQ(contents<std::int64_t>(info, 1).front(), 0);
  const Vector x = contents<double>(db, b.size());
  double residual = 0, largest_x = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = b[i];
    for (std::int64_t j = 0; j < n; ++j) sum -= a[i + j * n] * x[j];
    residual = std::max(residual, std::abs(sum));
    largest_x = std::max(largest_x, std::abs(x[i]));
  }
  const double n_real = static_cast<double>(n);
  EXPECT_LE(residual, 10 * n_real * n_real * 2.3e-16 * largest_x);  // ||A|| <= n
  for (const std::int64_t pivot : contents<std::int64_t>(pivots, b.size())) {
    EXPECT_TRUE(pivot >= 1 && pivot <= n) << pivot;
  }
}

// A = M M' + n I is positive definite; |A - L L'| <= 4 n eps max|A|; the upper triangle stays.
TEST_P(ApiComputeTest, DpotrfGivesTheFactor) {
  auto random = fresh_random();
  const std::int64_t n = uniform(random, 2, 60);
  const Vector m = random_vector(random, static_cast<std::size_t>(n * n));
  Vector a(m.size());
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = i == j ? static_cast<double>(n) : 0;
      for (std::int64_t p = 0; p < n; ++p) sum += m[i + p * n] * m[j + p * n];
      a[i + j * n] = i >= j ? sum : -77;  // poisoned above the diagonal
    }
  }
  const ob_buffer da = buffer_of(a), info = buffer(8);
  const std::array operands{flag('L'), number(n), at(da, n), at(info)};
  ASSERT_TRUE(succeeds(ob_call(queue, "dpotrf", operands.data(), operands.size())));
  ASSERT_EQ(contents<std::int64_t>(info, 1).front(), 0);
  const Vector l = contents<double>(da, a.size());
  const double bound = 4.0 * static_cast<double>(n) * 2.3e-16 * 2 * static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (i < j) {
        ASSERT_EQ(l[i + j * n], -77);
        continue;
      }
      double sum = 0;
      for (std::int64_t p = 0; p <= j; ++p) sum += l[i + p * n] * l[j + p * n];
      ASSERT_NEAR(sum, a[i + j * n], bound) << i << ", " << j;
    }
  }
}

TEST_P(ApiComputeTest, ComplexScalarsArePairs) {
  using Complex = std::complex<double>;
  const std::vector<Complex> x{{1, 2}, {-3, 0.5}};
  const std::vector<Complex> y{{0.5, -1}, {2, 2}};
  const ob_buffer dx = buffer_of(x), dy = buffer_of(y);
  const double alpha[2] = {2, -1};
  ob_operand scalar{};
  scalar.value.pair = alpha;
  const std::array operands{number(2), scalar, at(dx, 1), at(dy, 1)};
  ASSERT_TRUE(succeeds(ob_call(queue, "zaxpy", operands.data(), operands.size())));
  const auto result = contents<Complex>(dy, 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(result[i], Complex(2, -1) * x[i] + y[i]);  // exact
}

ob_fft transform(std::uint64_t n, std::uint64_t batch, std::int32_t sign, bool in_place) {
  ob_fft fft{};
  fft.struct_bytes = sizeof fft;
  fft.kind = OB_FFT_C2C;
  fft.precision = OB_DOUBLE;
  fft.sign = sign;
  fft.in_place = in_place ? 1 : 0;
  fft.rank = 1;
  fft.n[0] = n;
  fft.batch = batch;
  return fft;
}

// The direct sum has an error of n eps per point, with inputs of magnitude at most sqrt 2.
TEST_P(ApiComputeTest, TransformsFollowTheDirectSum) {
  using Complex = std::complex<double>;
  auto random = fresh_random();
  const std::uint64_t n = uniform<std::uint64_t>(random, 1, 100), batch = 3;
  const Vector numbers = random_vector(random, 2 * n * batch);
  std::vector<Complex> x(n * batch);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = {numbers[2 * i], numbers[2 * i + 1]};
  for (const bool in_place : {false, true}) {
    for (const std::int32_t sign : {-1, 1}) {
      const ob_fft fft = transform(n, batch, sign, in_place);
      ob_plan plan = nullptr;
      ASSERT_TRUE(succeeds(ob_plan_create(device, &fft, &plan)));
      const ob_buffer in = buffer_of(x);
      const ob_buffer out = in_place ? in : buffer(x.size() * sizeof(Complex));
      ASSERT_TRUE(succeeds(ob_plan_execute(plan, queue, {in, 0}, {out, 0})));
      ASSERT_TRUE(succeeds(ob_plan_destroy(plan)));  // the execution keeps it
      const auto result = contents<Complex>(out, x.size());
      for (std::uint64_t b = 0; b < batch; ++b) {
        for (std::uint64_t k = 0; k < n; ++k) {
          Complex sum = 0;
          for (std::uint64_t j = 0; j < n; ++j) {
            const double angle =
                2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
            sum += x[b * n + j] * std::polar(1.0, sign * angle);
          }
          ASSERT_LE(std::abs(result[b * n + k] - sum), 10.0 * static_cast<double>(n) * 2.3e-16)
              << "point " << k << " of " << n;
        }
      }
    }
  }
}

TEST_P(ApiComputeTest, ReportsCountTheComputing) {
  auto random = fresh_random();
  const ob_buffer a = buffer_of(random_vector(random, 200 * 200));
  const ob_buffer c = buffer(200 * 200 * 8);
  ASSERT_TRUE(succeeds(multiply(queue, 200, a, a, c)));
  ob_report report{};
  report.struct_bytes = sizeof report;
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue, OB_FOREVER, &report)));
  EXPECT_GT(report.compute_ns, 0u);
  EXPECT_EQ(report.failed_command, 0u);
  EXPECT_EQ(report.error.code, OB_OK);
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue, OB_FOREVER, &report)));
  EXPECT_EQ(report.compute_ns, 0u);  // reported once
}

INSTANTIATE_TEST_SUITE_P(Api, ApiComputeTest, testing::ValuesIn(kEverywhere), name_of);

}  // namespace
}  // namespace ob::test
