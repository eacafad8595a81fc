#include "interpose/fftw_problem.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "support/random.hpp"

namespace ob::interpose {
namespace {

char g_a[16], g_b[16];

FftwCall out_of_place(FftKind kind = FftKind::c2c, Precision precision = Precision::z) {
  return {kind, precision, kind == FftKind::c2r ? 1 : -1, 0, {g_a, g_b}};
}

FftwCall in_place(FftKind kind = FftKind::c2c, Precision precision = Precision::z) {
  FftwCall call = out_of_place(kind, precision);
  call.arrays.output = call.arrays.input;
  return call;
}

std::vector<FftwDimension> dims(const FftwProblem& p) {
  return {p.dims.begin(), p.dims.begin() + p.rank};
}

std::vector<FftwDimension> howmany(const FftwProblem& p) {
  return {p.howmany.begin(), p.howmany.begin() + p.howmany_rank};
}

using Dims = std::vector<FftwDimension>;

// The expected values are computed by hand from sections 4.3, 4.4 and 4.5 of the FFTW 3.3 manual.

TEST(Normalise, BasicIsRowMajor) {
  const int n[] = {4, 5, 6};
  const FftwProblem p = basic_problem(out_of_place(), 3, n);
  ASSERT_TRUE(p.representable);
  EXPECT_EQ(dims(p), (Dims{{4, 30, 30}, {5, 6, 6}, {6, 1, 1}}));
  EXPECT_EQ(howmany(p).size(), 1U);
  EXPECT_EQ(howmany(p)[0].n, 1);
}

TEST(Normalise, BasicOneDimension) {
  const int n[] = {7};
  EXPECT_EQ(dims(basic_problem(in_place(), 1, n)), (Dims{{7, 1, 1}}));
}

TEST(Normalise, RealOutOfPlaceRowsAreNotPadded) {
  const int n[] = {4, 5, 7};
  EXPECT_EQ(dims(basic_problem(out_of_place(FftKind::r2c), 3, n)),
            (Dims{{4, 35, 20}, {5, 7, 4}, {7, 1, 1}}));
  EXPECT_EQ(dims(basic_problem(out_of_place(FftKind::c2r), 3, n)),
            (Dims{{4, 20, 35}, {5, 4, 7}, {7, 1, 1}}));
}

TEST(Normalise, RealInPlaceRowsArePadded) {
  const int n[] = {4, 5, 7};
  EXPECT_EQ(dims(basic_problem(in_place(FftKind::r2c), 3, n)),
            (Dims{{4, 40, 20}, {5, 8, 4}, {7, 1, 1}}));
  EXPECT_EQ(dims(basic_problem(in_place(FftKind::c2r), 3, n)),
            (Dims{{4, 20, 40}, {5, 4, 8}, {7, 1, 1}}));
}

TEST(Normalise, ManyWithEmbedding) {
  const int n[] = {3, 4};
  const int inembed[] = {99, 6};  // the first length is never used
  const int onembed[] = {98, 5};
  const FftwProblem p = many_problem(out_of_place(), 2, n, 7, {inembed, 2, 100}, {onembed, 3, 200});
  ASSERT_TRUE(p.representable);
  EXPECT_EQ(dims(p), (Dims{{3, 12, 15}, {4, 2, 3}}));
  EXPECT_EQ(howmany(p), (Dims{{7, 100, 200}}));
}

TEST(Normalise, ManyWithoutEmbeddingIsN) {
  const int n[] = {3, 4};
  const FftwProblem p = many_problem(out_of_place(), 2, n, 7, {nullptr, 7, 1}, {nullptr, 1, 12});
  EXPECT_EQ(dims(p), (Dims{{3, 28, 4}, {4, 7, 1}}));
  EXPECT_EQ(howmany(p), (Dims{{7, 1, 12}}));
}

TEST(Normalise, ManyRealInPlaceDefaultIsPadded) {
  const int n[] = {3, 4};
  const FftwProblem p =
      many_problem(in_place(FftKind::r2c), 2, n, 2, {nullptr, 1, 18}, {nullptr, 1, 9});
  EXPECT_EQ(dims(p), (Dims{{3, 6, 3}, {4, 1, 1}}));
}

TEST(Normalise, GuruIsTakenAsItIs) {
  const FftwIodim<int> d[] = {{4, -8, 1}, {5, 40, 4}};
  const FftwIodim<int> h[] = {{2, 160, 20}, {3, 1000, 2000}};
  const FftwProblem p = guru_problem(out_of_place(), 2, d, 2, h);
  EXPECT_EQ(dims(p), (Dims{{4, -8, 1}, {5, 40, 4}}));
  EXPECT_EQ(howmany(p), (Dims{{2, 160, 20}, {3, 1000, 2000}}));
}

TEST(Normalise, Guru64KeepsLargeStrides) {
  const FftwIodim<std::ptrdiff_t> d[] = {{4, std::ptrdiff_t{1} << 40, 1}};
  const FftwProblem p = guru_problem<std::ptrdiff_t>(out_of_place(), 1, d, 0, nullptr);
  EXPECT_EQ(dims(p), (Dims{{4, std::int64_t{1} << 40, 1}}));
  EXPECT_TRUE(to_offload(p).has_value());
}

TEST(Normalise, ImpossibleRanks) {
  const int n[] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
  EXPECT_FALSE(basic_problem(out_of_place(), -1, n).representable);
  EXPECT_FALSE(basic_problem(out_of_place(), 9, n).representable);
  EXPECT_FALSE(basic_problem(out_of_place(), INT32_MAX, nullptr).representable);
  const FftwIodim<int> d[] = {{2, 1, 1}};
  EXPECT_FALSE(guru_problem(out_of_place(), 1, d, -1, d).representable);
}

// --- what may leave the machine

TEST(Offload, PackedTwoDimensional) {
  const int n[] = {4, 6};
  const auto o = to_offload(basic_problem(in_place(FftKind::c2c, Precision::c), 2, n));
  ASSERT_TRUE(o.has_value());
  const FftPlan& plan = o->transform.plan;
  EXPECT_EQ(plan.kind, FftKind::c2c);
  EXPECT_EQ(plan.precision, Precision::c);
  EXPECT_EQ(plan.sign, -1);
  EXPECT_TRUE(plan.in_place);
  EXPECT_EQ(plan.rank, 2);
  EXPECT_EQ(plan.n[0], 4U);
  EXPECT_EQ(plan.n[1], 6U);
  EXPECT_EQ(plan.batch, 1U);
  EXPECT_EQ(o->transform.input.dimensions, 2);
  EXPECT_EQ(o->input.low, 0);
  EXPECT_EQ(o->input.high, 4 * 6 * 8);
}

TEST(Offload, DimensionsOfOneAreLeftOut) {
  const int n[] = {1, 8, 1, 4};
  const auto o = to_offload(basic_problem(out_of_place(), 4, n));
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->transform.plan.rank, 2);
  EXPECT_EQ(o->transform.plan.n[0], 8U);
  EXPECT_EQ(o->transform.plan.n[1], 4U);
  EXPECT_EQ(o->transform.plan.n[2], 0U);
  EXPECT_FALSE(o->transform.plan.in_place);
}

TEST(Offload, SeveralBatchDimensionsComeFirst) {
  const FftwIodim<int> d[] = {{8, 1, 1}};
  const FftwIodim<int> h[] = {{2, 24, 24}, {3, 8, 8}};
  const auto o = to_offload(guru_problem(out_of_place(), 1, d, 2, h));
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->transform.plan.batch, 6U);
  EXPECT_EQ(o->transform.input.dimensions, 3);
  EXPECT_EQ(o->transform.input.dims[0].count, 2U);
  EXPECT_EQ(o->transform.input.dims[0].stride_bytes, 24 * 16);
  EXPECT_EQ(o->transform.input.dims[2].count, 8U);
}

TEST(Offload, HalfOfRealTransformsIsStored) {
  const int n[] = {4, 7};
  const auto o = to_offload(basic_problem(in_place(FftKind::r2c, Precision::c), 2, n));
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->transform.plan.n[1], 7U);
  EXPECT_EQ(o->transform.input.dims[1].count, 7U);
  EXPECT_EQ(o->transform.output.dims[1].count, 4U);
  EXPECT_EQ(o->transform.input.dims[0].stride_bytes, 8 * 4);   // padded floats
  EXPECT_EQ(o->transform.output.dims[0].stride_bytes, 4 * 8);  // complex floats
}

TEST(Offload, NegativeStridesReachBelowTheArray) {
  const FftwIodim<int> d[] = {{8, -2, 1}};
  const auto o = to_offload(guru_problem<int>(out_of_place(), 1, d, 0, nullptr));
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->input.low, -7 * 2 * 16);
  EXPECT_EQ(o->input.high, 16);
}

TEST(Offload, OverlappingInputIsFineOverlappingOutputIsNot) {
  const int n[] = {8};
  const auto windows = many_problem(out_of_place(), 1, n, 4, {nullptr, 1, 2}, {nullptr, 1, 8});
  EXPECT_TRUE(to_offload(windows).has_value());
  const auto clash = many_problem(out_of_place(), 1, n, 4, {nullptr, 1, 8}, {nullptr, 1, 2});
  EXPECT_FALSE(to_offload(clash).has_value());
  const auto stuck = many_problem(out_of_place(), 1, n, 4, {nullptr, 1, 8}, {nullptr, 1, 0});
  EXPECT_FALSE(to_offload(stuck).has_value());
  const auto transposed = many_problem(out_of_place(), 1, n, 4, {nullptr, 1, 8}, {nullptr, 4, 1});
  EXPECT_TRUE(to_offload(transposed).has_value());
}

TEST(Offload, WhatStaysNative) {
  const int n[] = {8};
  const int zero[] = {0};
  const int negative[] = {-8};
  const int one[] = {1};
  FftwCall odd_sign = out_of_place();
  odd_sign.sign = 7;
  EXPECT_FALSE(to_offload(basic_problem(odd_sign, 1, n)).has_value());
  odd_sign.sign = 0;
  EXPECT_FALSE(to_offload(basic_problem(odd_sign, 1, n)).has_value());
  EXPECT_FALSE(to_offload(basic_problem(out_of_place(), 1, zero)).has_value());
  EXPECT_FALSE(to_offload(basic_problem(out_of_place(), 1, negative)).has_value());
  EXPECT_FALSE(to_offload(basic_problem(out_of_place(), 1, one)).has_value());
  EXPECT_FALSE(to_offload(basic_problem(out_of_place(), 0, n)).has_value());
  const FftwEmbedding packed{nullptr, 1, 8};
  EXPECT_FALSE(to_offload(many_problem(out_of_place(), 1, n, 0, packed, packed)).has_value());
  EXPECT_FALSE(to_offload(many_problem(out_of_place(), 1, n, -1, packed, packed)).has_value());
}

TEST(Offload, OverflowStaysNative) {
  const int huge[] = {INT32_MAX, INT32_MAX, INT32_MAX};
  EXPECT_FALSE(to_offload(basic_problem(out_of_place(), 3, huge)).has_value());
  for (const std::int64_t stride : {INT64_MAX, INT64_MIN, INT64_MIN / 16, INT64_MAX / 16}) {
    const FftwIodim<std::ptrdiff_t> d[] = {{2, stride, 1}};
    EXPECT_FALSE(to_offload(guru_problem<std::ptrdiff_t>(out_of_place(), 1, d, 0, nullptr)))
        << stride;
    const FftwIodim<std::ptrdiff_t> e[] = {{2, 1, stride}};
    EXPECT_FALSE(to_offload(guru_problem<std::ptrdiff_t>(out_of_place(), 1, e, 0, nullptr)))
        << stride;
  }
}

TEST(Offload, NineDimensionsDoNotFitALayout) {
  FftwIodim<int> d[4];
  FftwIodim<int> h[5];
  int stride = 1;
  for (auto& x : d) x = {2, stride, stride}, stride *= 2;
  for (auto& x : h) x = {2, stride, stride}, stride *= 2;
  EXPECT_TRUE(to_offload(guru_problem(out_of_place(), 4, d, 4, h)).has_value());
  EXPECT_FALSE(to_offload(guru_problem(out_of_place(), 4, d, 5, h)).has_value());
}

// Random problems: the layouts list exactly the elements that nested loops over the caller's
// arguments touch, in the order of the howmany dimensions first, then the others.
class Gather : public testing::TestWithParam<int> {};

TEST_P(Gather, LayoutAgreesWithLoops) {
  std::mt19937_64 random = test::fresh_random();
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int rank = GetParam();
    std::vector<int> n(rank), inembed(rank), onembed(rank);
    for (int i = 0; i < rank; ++i) {
      n[i] = pick(1, 5);
      inembed[i] = n[i] + pick(0, 2);
      onembed[i] = n[i] + pick(0, 2);
    }
    n[0] = pick(2, 5);
    const int istride = pick(1, 3), ostride = pick(1, 3), count = pick(1, 3);
    const int isize = std::accumulate(inembed.begin() + 1, inembed.end(), 5, std::multiplies<>());
    const int osize = std::accumulate(onembed.begin() + 1, onembed.end(), 5, std::multiplies<>());
    const int idist = isize * istride + pick(0, 3), odist = osize * ostride + pick(0, 3);
    const auto o = to_offload(many_problem(out_of_place(FftKind::c2c, Precision::c), rank, n.data(),
                                           count, {inembed.data(), istride, idist},
                                           {onembed.data(), ostride, odist}));
    ASSERT_TRUE(o.has_value());
    std::vector<std::complex<float>> memory(idist * (count + 1) + odist * (count + 1));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = {static_cast<float>(i), -1.0F};
    const FftTransform& t = o->transform;
    for (const bool input : {true, false}) {
      const auto& embed = input ? inembed : onembed;
      const int stride = input ? istride : ostride, dist = input ? idist : odist;
      std::vector<std::complex<float>> expected;
      const int points = std::accumulate(n.begin(), n.end(), 1, std::multiplies<>());
      for (int b = 0; b < count; ++b) {
        for (int linear = 0; linear < points; ++linear) {
          // FFTW 3.3 manual, 4.4.1: element (i0,...) of transform b lies at b*dist +
          // stride*(row-major in embed)
          std::vector<int> index(rank);
          for (int i = rank, rest = linear; i-- > 0; rest /= n[i]) index[i] = rest % n[i];
          int at = 0;
          for (int i = 0; i < rank; ++i) at = at * (i == 0 ? 1 : embed[i]) + index[i];
          expected.push_back(memory[b * dist + stride * at]);
        }
      }
      const Layout layout = (input ? t.input : t.output).layout(memory.data());
      ASSERT_EQ(layout.total_bytes(), expected.size() * 8);
      std::vector<std::complex<float>> packed(expected.size());
      Layout::Cursor cursor(layout);
      gather(cursor, std::as_writable_bytes(std::span(packed)));
      ASSERT_EQ(packed, expected);
      const ByteRange& range = input ? o->input : o->output;
      EXPECT_EQ(range.low, 0);
      EXPECT_EQ(range.high, 8 * (static_cast<std::int64_t>(expected.back().real()) + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gather, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace ob::interpose
