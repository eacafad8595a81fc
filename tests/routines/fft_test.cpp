#include "routines/fft.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace ob {
namespace {

FftPlan plan(FftKind kind, Precision precision, std::initializer_list<std::uint64_t> n,
             std::uint64_t batch) {
  FftPlan p;
  p.kind = kind;
  p.precision = precision;
  for (const std::uint64_t length : n) p.n[p.rank++] = length;
  p.batch = batch;
  return p;
}

TEST(Fft, BytesOfEachKind) {
  const FftPlan c2c = plan(FftKind::c2c, Precision::z, {4, 6}, 3);
  EXPECT_EQ(points(c2c), 24U);
  EXPECT_EQ(input_bytes(c2c), 24U * 3 * 16);
  EXPECT_EQ(output_bytes(c2c), 24U * 3 * 16);
  const FftPlan r2c = plan(FftKind::r2c, Precision::c, {4, 6}, 3);
  EXPECT_EQ(input_bytes(r2c), 24U * 3 * 4);
  EXPECT_EQ(output_bytes(r2c), 4U * 4 * 3 * 8);  // 6/2 + 1 in the last dimension
  const FftPlan c2r = plan(FftKind::c2r, Precision::z, {5}, 1);
  EXPECT_EQ(input_bytes(c2r), 3U * 16);
  EXPECT_EQ(output_bytes(c2r), 5U * 8);
  const FftPlan r2r = plan(FftKind::r2r, Precision::c, {5, 3}, 2);
  EXPECT_EQ(input_bytes(r2r), 30U * 4);
  EXPECT_EQ(output_bytes(r2r), 30U * 4);
}

TEST(Fft, RankZeroIsACopyAndZeroIsNothing) {
  EXPECT_EQ(points(plan(FftKind::c2c, Precision::z, {}, 1)), 1U);
  EXPECT_EQ(flops(plan(FftKind::c2c, Precision::z, {}, 7)), 0);
  EXPECT_EQ(output_bytes(plan(FftKind::r2c, Precision::z, {4, 0}, 1)), 0U);
}

TEST(Fft, HugePlansSaturate) {
  const FftPlan p = plan(FftKind::c2c, Precision::z, {UINT64_MAX, UINT64_MAX, 3}, UINT64_MAX);
  EXPECT_EQ(points(p), UINT64_MAX);
  EXPECT_EQ(input_bytes(p), UINT64_MAX);
  EXPECT_EQ(output_bytes(plan(FftKind::r2c, Precision::c, {UINT64_MAX, 5}, 9)), UINT64_MAX);
}

TEST(Fft, FlopsAreTheConventions) {
  EXPECT_DOUBLE_EQ(flops(plan(FftKind::c2c, Precision::z, {1024}, 2)), 2 * 5.0 * 1024 * 10);
  EXPECT_DOUBLE_EQ(flops(plan(FftKind::r2c, Precision::z, {1024}, 2)), 5.0 * 1024 * 10);
  for (const std::uint64_t n : {2U, 3U, 5U, 7U, 1000U, 65537U, 123456789U}) {
    const double exact = 5.0 * static_cast<double>(n) * std::log2(static_cast<double>(n));
    EXPECT_NEAR(flops(plan(FftKind::c2c, Precision::z, {n}, 1)) / exact, 1, 1e-9) << n;
  }
}

}  // namespace
}  // namespace ob
