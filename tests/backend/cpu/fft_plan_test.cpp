#include "backend/cpu/fft_plan.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <thread>
#include <vector>

namespace ob::cpu {
namespace {

class FftPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    auto library = FftLibrary::open(false);
    ASSERT_TRUE(library.ok()) << library.status().message();
    library_ = std::move(library).value();
  }
  std::shared_ptr<const FftLibrary> library_;
};

TEST_F(FftPlanTest, ReportsHowLongItWasWaitedFor) {
  FftPlan plan{.rank = 1};
  plan.n = {1000};
  CpuFftPlan made(plan, library_, 1);
  EXPECT_FALSE(made.built());
  std::thread planner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    made.build();
  });
  std::uint64_t plan_ns = 0;
  EXPECT_TRUE(made.wait(plan_ns).ok());
  planner.join();
  EXPECT_GT(plan_ns, 0u);
  EXPECT_TRUE(made.built());
  std::uint64_t again_ns = 0;
  EXPECT_TRUE(made.wait(again_ns).ok());
  EXPECT_EQ(again_ns, 0u);
}

TEST_F(FftPlanTest, TransformsAnImpulseByHand) {
  FftPlan plan{.in_place = false, .rank = 1};
  plan.n = {4};
  CpuFftPlan made(plan, library_, 1);
  made.build();
  const std::vector<std::complex<double>> input{0, 1, 0, 0};
  std::vector<std::complex<double>> in = input;
  std::vector<std::complex<double>> out(4);
  ASSERT_TRUE(made.execute(reinterpret_cast<std::byte*>(in.data()),
                           reinterpret_cast<std::byte*>(out.data()))
                  .ok());
  const std::vector<std::complex<double>> right{1, {0, -1}, -1, {0, 1}};
  for (int i = 0; i < 4; ++i) EXPECT_LT(std::abs(out[i] - right[i]), 1e-15);
  EXPECT_EQ(in, input);
}

TEST_F(FftPlanTest, NamesThePackageOfAnAbsentLibrary) {
  EXPECT_NE(library_->description().find("fftw"), std::string::npos) << library_->description();
}

}  // namespace
}  // namespace ob::cpu
