// Compares real-to-real transforms that run through other transforms with FFTW's own.
//
// Bound: the relative error in the 2-norm is below (1 + log2(n)) eps for n points of one transform,
// with eps = 2^-52 or 2^-23. The errors of both results grow at most linearly in the levels
// (Higham, Accuracy and Stability, theorem 24.2), and the kernels add one level. Found: 0.3 of it.

#include "backend/cpu/real_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/cpu/fft_plan.hpp"
#include "support/random.hpp"

namespace ob::cpu {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::byte kPoison{0xFF};

template <class Real>
class RealPlanTest : public testing::Test {
 protected:
  static constexpr bool kSingle = sizeof(Real) == 4;

  void SetUp() override {
    auto library = FftLibrary::open(kSingle);
    ASSERT_TRUE(library.ok()) << library.status().message();
    library_ = std::move(library).value();
  }

  FftPlan plan_of(const std::vector<std::uint64_t>& n, std::uint64_t batch) {
    FftPlan plan;
    plan.kind = FftKind::r2r;
    plan.precision = kSingle ? Precision::c : Precision::z;
    plan.in_place = test::uniform(random_, 0, 1) == 0;
    plan.rank = static_cast<std::uint8_t>(n.size());
    std::copy(n.begin(), n.end(), plan.n.begin());
    for (std::size_t i = 0; i < n.size(); ++i) plan.real[i] = any_kind();
    plan.batch = batch;
    return plan;
  }
  RealTransform any_kind() { return static_cast<RealTransform>(test::uniform(random_, 0, 10)); }

  Bytes random_input(const FftPlan& plan) {
    Bytes input(input_bytes(plan));
    for (std::size_t i = 0; i < input.size(); i += sizeof(Real)) {
      const auto value = static_cast<Real>(std::uniform_real_distribution(-1.0, 1.0)(random_));
      std::memcpy(&input[i], &value, sizeof value);
    }
    return input;
  }

  // Returns the output of `made` for a copy of the input. Runs twice, since memory is kept between.
  template <class Plan>
  Bytes executed(const FftPlan& plan, Plan& made, const Bytes& input) {
    Bytes output;
    for (int round = 0; round < 2; ++round) {
      Bytes in = input;
      output.assign(output_bytes(plan), kPoison);
      std::byte* const to = plan.in_place ? in.data() : output.data();
      const Status status = made.execute(in.data(), to);
      EXPECT_TRUE(status.ok()) << status.message();
      if (plan.in_place) {
        output = in;
      } else {
        EXPECT_TRUE(in == input);
      }
    }
    return output;
  }

  // Returns the relative distance of a from b in units of (1 + log2(n)) eps.
  double distance(const FftPlan& plan, const Bytes& a, const Bytes& b) {
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < b.size(); i += sizeof(Real)) {
      Real x;
      Real y;
      std::memcpy(&x, &a[i], sizeof x);
      std::memcpy(&y, &b[i], sizeof y);
      error += (double{x} - y) * (double{x} - y);
      norm += double{y} * y;
    }
    const double epsilon = kSingle ? 0x1p-23 : 0x1p-52;
    return std::sqrt(error / norm) / ((1 + std::log2(static_cast<double>(points(plan)))) * epsilon);
  }

  void check(const FftPlan& plan) {
    std::string kinds;
    for (std::size_t i = 0; i < plan.rank; ++i) {
      kinds += " kind " + std::to_string(static_cast<int>(plan.real[i])) + " of " +
               std::to_string(plan.n[i]);
    }
    SCOPED_TRACE(kinds + " batch " + std::to_string(plan.batch));
    CpuFftPlan own(plan, library_, 1);
    own.build();
    auto made = CpuRealPlan::create(plan, library_, 1);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Bytes input = random_input(plan);
    const Bytes right = executed(plan, own, input);
    const double found = distance(plan, executed(plan, **made, input), right);
    ASSERT_LT(found, 1);
    most_ = std::max(most_, found);
  }

  std::mt19937_64 random_ = test::fresh_random();
  std::shared_ptr<const FftLibrary> library_;
  double most_ = 0;
};

using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(RealPlanTest, Reals);

TYPED_TEST(RealPlanTest, LongLinesAreFftws) {
  for (const std::uint64_t n : {1000, 1024, 4099, 3 * 5 * 7 * 11, 1 << 15}) {
    for (int kind = 0; kind <= 10; ++kind) {
      FftPlan plan = this->plan_of({n}, 1);
      plan.real[0] = static_cast<RealTransform>(kind);
      this->check(plan);
    }
  }
  std::printf("largest distance: %.2f (1 + log2(n)) eps\n", this->most_);
}

TYPED_TEST(RealPlanTest, DimensionsAndBatchesAreFftws) {
  const auto any = [&](std::uint64_t most) {
    return test::uniform<std::uint64_t>(this->random_, 2, most);
  };
  for (int round = 0; round < 30; ++round) {
    this->check(this->plan_of({any(60)}, any(3000)));  // more lines than one block
    this->check(this->plan_of({any(90), any(90)}, any(4)));
    this->check(this->plan_of({any(20), any(20), any(20)}, any(4)));
    this->check(this->plan_of({any(5), any(5), any(5), any(5)}, 1));
  }
  std::printf("largest distance: %.2f (1 + log2(n)) eps\n", this->most_);
}

FftLibrary::Plan no_plan(int, const FftLibrary::Dimension*, int, const FftLibrary::Dimension*,
                         void*, void*, const int*, unsigned) {
  return nullptr;
}

// Some libraries with FFTW's interface lack r2r, or return no plans for it.
TYPED_TEST(RealPlanTest, WhatTheLibraryLacksIsMadeOfOthers) {
  const FftPlan plan = this->plan_of({30, 17}, 5);
  const Bytes input = this->random_input(plan);
  CpuFftPlan own(plan, this->library_, 1);
  own.build();
  const Bytes right = this->executed(plan, own, input);
  for (const auto planner : {decltype(&no_plan){}, &no_plan}) {
    auto library = FftLibrary::open(TestFixture::kSingle);
    ASSERT_TRUE(library.ok()) << library.status().message();
    std::const_pointer_cast<FftLibrary>(*library)->plan_r2r = planner;
    CpuFftPlan made(plan, *library, 1);
    made.build();
    std::uint64_t plan_ns = 0;
    ASSERT_TRUE(made.wait(plan_ns).ok());
    EXPECT_LT(this->distance(plan, this->executed(plan, made, input), right), 1);
  }
}

}  // namespace
}  // namespace ob::cpu
