#include "backend/cpu/fft_plan.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <complex>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/cpu/backend.hpp"

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

// Returns the bytes in use on this thread's heap, from which the library allocates its tables.
std::uint64_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(FftPlanTest, TakesNoMoreMemoryThanIsSaid) {
  const auto check = [&](const FftPlan& plan) {
    CpuFftPlan made(plan, library_, 1);
    const std::uint64_t before = heap_bytes();
    made.build();
    const std::uint64_t took = heap_bytes() - before;
    EXPECT_LE(took, CpuFftPlan::host_bytes(plan)) << plan.n[0];
    return took;
  };
  (void)check({.rank = 1, .n = {30030}});  // memory that every first plan allocates once
  for (const bool in_place : {false, true}) {
    for (const std::uint64_t n : {65536, 1 << 20, 100'000, 510'510, 1'000'000, 3 * 99'991}) {
      (void)check({.in_place = in_place, .rank = 1, .n = {n}});
      (void)check({.precision = Precision::z, .in_place = in_place, .rank = 2, .n = {4, n}});
    }
  }
  // The limit exists for this case: it takes over four complex numbers for each point.
  EXPECT_GE(check({.rank = 1, .n = {1'000'003}}), 64'000'000u);
  for (const auto real : {RealTransform::redft00, RealTransform::redft10, RealTransform::rodft11,
                          RealTransform::dht}) {
    FftPlan plan{.kind = FftKind::r2r, .rank = 1, .n = {1 << 18}};
    plan.real[0] = real;
    (void)check(plan);
  }
}

TEST_F(FftPlanTest, PlansThatWaitToBeMadeAreNotWithoutNumber) {
  const auto device = create({.memory_bytes = 1 << 24, .threads = 1});
  ASSERT_TRUE(device.ok()) << device.status().message();
  const FftPlan plan{.rank = 1, .n = {5000}};  // not made at once
  std::vector<PlanId> plans;
  Status refused;
  {
    const std::lock_guard nothing_is_planned(FftLibrary::planner());
    while (refused.ok() && plans.size() < 10000) {
      const auto made = (*device)->make_plan(plan);
      if (made.ok()) plans.push_back(*made);
      refused = made.status();
    }
    EXPECT_EQ(plans.size(), 4096u);
    EXPECT_EQ(refused.code(), Code::out_of_memory) << refused.message();
    for (const PlanId id : plans) EXPECT_TRUE((*device)->destroy_plan(id).ok());
  }
  const QueueId queue = (*device)->create_queue().value();
  const BufferId buffer = (*device)->allocate(16 * 5000).value();
  auto last = (*device)->make_plan(plan);
  while (!last.ok()) last = (*device)->make_plan(plan);  // the planner drops the destroyed plans
  ASSERT_TRUE((*device)->execute(queue, *last, {buffer}, {buffer}).ok());
  EXPECT_TRUE((*device)->synchronize(queue).status.ok());
}

TEST_F(FftPlanTest, NamesThePackageOfAnAbsentLibrary) {
  EXPECT_NE(library_->description().find("fftw"), std::string::npos) << library_->description();
}

}  // namespace
}  // namespace ob::cpu
