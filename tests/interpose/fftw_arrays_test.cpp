// Split arrays, real-to-real kinds, and the arrays with which a planned transform may be remote.

#include "interpose/fftw_arrays.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "interpose/fftw_problem.hpp"

namespace ob::interpose {
namespace {

std::array<double, 256> g_memory;
double* const g_at = g_memory.data();

FftwCall call_of(FftKind kind, const FftwArrays& arrays, bool split) {
  return {kind, Precision::z, kind == FftKind::c2r ? 1 : -1, 0, arrays, split};
}

// Returns the offload of n points with stride `stride` on both sides.
std::optional<FftwOffload> line(const FftwCall& call, int n, int stride = 1) {
  const FftwIodim<int> d[] = {{n, stride, stride}};
  return to_offload(guru_problem<int>(call, 1, d, 0, nullptr));
}

TEST(SplitArrays, AreRealsWithADimensionOfTwo) {
  const FftwArrays arrays{g_at, g_at + 40, g_at + 10, g_at + 90};
  const auto o = line(call_of(FftKind::c2c, arrays, true), 8);
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->input.high, 8 * 8);  // of each array
  FftTransform placed;
  ASSERT_TRUE(place(*o, arrays, placed));
  EXPECT_EQ(placed.input.element_bytes, 8U);
  ASSERT_EQ(placed.input.dimensions, 2);
  EXPECT_EQ(placed.input.dims[1].count, 2U);
  EXPECT_EQ(placed.input.dims[1].stride_bytes, 10 * 8);
  EXPECT_EQ(placed.output.dims[1].stride_bytes, 50 * 8);
}

TEST(SplitArrays, OnlyComplexSidesAreSplit) {
  const FftwArrays arrays{g_at, g_at + 40, nullptr, g_at + 90};
  const auto o = line(call_of(FftKind::r2c, arrays, true), 8);
  ASSERT_TRUE(o.has_value());
  FftTransform placed;
  ASSERT_TRUE(place(*o, arrays, placed));
  EXPECT_EQ(placed.input.dimensions, 1);
  EXPECT_EQ(placed.output.dimensions, 2);
  EXPECT_EQ(placed.output.dims[0].count, 5U);
}

TEST(SplitArrays, DistancesAreThoseOfTheCall) {
  const auto o = line(call_of(FftKind::c2c, {}, true), 8);  // planned without arrays: in place
  ASSERT_TRUE(o.has_value());
  FftTransform placed;
  ASSERT_TRUE(place(*o, {g_at + 64, g_at + 64, g_at, g_at}, placed));
  EXPECT_EQ(placed.input.dims[1].stride_bytes, -64 * 8);
  EXPECT_EQ(placed.output.dims[1].stride_bytes, -64 * 8);
}

TEST(SplitArrays, InterleavedHalvesAreDistinct) {
  const auto o = line(call_of(FftKind::c2c, {}, true), 8, 2);
  FftTransform placed;
  EXPECT_TRUE(place(*o, {g_at, g_at, g_at + 1, g_at + 1}, placed));
  const auto dense = line(call_of(FftKind::c2c, {}, true), 8, 1);
  EXPECT_FALSE(place(*dense, {g_at, g_at, g_at + 1, g_at + 1}, placed)) << "results overlap";
  EXPECT_FALSE(place(*dense, {g_at, g_at, g_at, g_at}, placed)) << "one array for both halves";
}

TEST(SplitArrays, WhatStaysNative) {
  const FftwArrays arrays{g_at, g_at + 40, g_at + 10, g_at + 90};
  const auto o = line(call_of(FftKind::c2c, arrays, true), 8);
  FftTransform placed;
  const auto fits = [&](const FftwArrays& a) { return place(*o, a, placed); };
  EXPECT_FALSE(fits({g_at, g_at + 40, nullptr, g_at + 90}));
  EXPECT_FALSE(fits({g_at, g_at + 40, g_at + 10, nullptr}));
  EXPECT_FALSE(fits({g_at, g_at, g_at + 10, g_at + 10})) << "planned out of place";
  EXPECT_FALSE(fits({g_at, g_at + 40, g_at + 10, g_at + 14})) << "ii and io overlap";
  EXPECT_FALSE(fits({g_at, g_at + 14, g_at + 10, g_at + 90})) << "ii and ro overlap";
  EXPECT_TRUE(fits({g_at, g_at + 8, g_at + 16, g_at + 24})) << "arrays in turn";
  const auto same = line(call_of(FftKind::c2c, {g_at, g_at, g_at + 10, g_at + 10}, true), 8);
  EXPECT_FALSE(place(*same, {g_at, g_at, g_at + 10, g_at + 20}, placed)) << "half in place";
}

// --- real to real

std::optional<FftwOffload> real_line(const std::vector<int>& n, const std::vector<int>& kinds) {
  const FftwCall call = call_of(FftKind::r2r, {g_at, g_at + 100}, false);
  return to_offload(
      with_kinds(basic_problem(call, static_cast<int>(n.size()), n.data()), kinds.data()));
}

constexpr int kDht = 2, kRedft00 = 3, kRedft10 = 5, kRodft11 = 10;  // the numbers of fftw3.h

TEST(RealToReal, KindsGoWithTheirDimensions) {
  const auto o = real_line({4, 6}, {kRedft10, kRodft11});
  ASSERT_TRUE(o.has_value());
  const FftTransform& t = o->transform;
  EXPECT_EQ(t.plan.real[0], RealTransform::redft10);
  EXPECT_EQ(t.plan.real[1], RealTransform::rodft11);
  EXPECT_EQ(t.input.element_bytes, 8U);
  EXPECT_EQ(t.input.dims[0].stride_bytes, 6 * 8);
  EXPECT_EQ(t.output.dims[1].count, 6U);
}

TEST(RealToReal, OnePointStaysWhereItScales) {
  const auto o = real_line({1, 8, 1}, {kDht, kDht, kRedft10});
  ASSERT_TRUE(o.has_value());
  ASSERT_EQ(o->transform.plan.rank, 2);
  EXPECT_EQ(o->transform.plan.n[0], 8U);
  EXPECT_EQ(o->transform.plan.n[1], 1U);
  EXPECT_EQ(o->transform.plan.real[1], RealTransform::redft10);
}

TEST(RealToReal, WhatStaysNative) {
  EXPECT_FALSE(real_line({8}, {11}).has_value());
  EXPECT_FALSE(real_line({8}, {-1}).has_value());
  EXPECT_FALSE(real_line({1}, {kRedft10}).has_value()) << "one point";
  EXPECT_FALSE(real_line({8, 1}, {kDht, kRedft00}).has_value()) << "NULL natively";
  EXPECT_TRUE(real_line({8, 2}, {kDht, kRedft00}).has_value());
}

}  // namespace
}  // namespace ob::interpose
