// Compares transforms larger than the device with one call of FFTW on a device that holds them.
//
// Bound: the relative error in the 2-norm is below c log2(N) eps for N points of one transform,
// with eps = 2^-52 or 2^-23. Both results are sums over log2(N) levels. Their errors grow at most
// linearly with the number of levels (Higham, Accuracy and Stability, theorem 24.2). A split adds
// one rounding per pass and twiddle factors with an error of 2.5 eps; c = 1 (found: 0.25). A prime
// length takes three transforms of up to four times the length and products with three chirps;
// c = 4 (found: 0.27).

#include "algorithms/fft/large.hpp"

#include "algorithms/fft/fft_arrays.hpp"
#include "algorithms/fft/traffic.hpp"
#include "algorithms/metered_device.hpp"
#include "algorithms/offload.hpp"
#include "algorithms/place.hpp"

namespace ob::test {
namespace {

FftPlan shape(FftKind kind, const std::vector<std::uint64_t>& n, std::mt19937_64& random) {
  FftPlan plan;
  plan.kind = kind;
  plan.precision = uniform(random, 0, 2) == 0 ? Precision::c : Precision::z;
  plan.sign = uniform(random, 0, 1) == 0 ? -1 : +1;
  if (kind == FftKind::r2c) plan.sign = -1;
  if (kind == FftKind::c2r) plan.sign = +1;
  plan.rank = static_cast<std::uint8_t>(n.size());
  std::copy(n.begin(), n.end(), plan.n.begin());
  for (std::size_t i = 0; kind == FftKind::r2r && i < n.size(); ++i) {
    plan.real[i] = static_cast<RealTransform>(uniform(random, 0, 10));
  }
  return plan;
}

// Computes the packed result of the plan for the packed input, on a device with enough memory.
Bytes expected(FftProblem& problem) {
  const auto device = cpu_device(1 << 30);
  const QueueId queue = require(device->create_queue());
  FftPlan plan = problem.plan;
  plan.in_place = false;
  const PlanId id = require(device->make_plan(plan));
  Bytes input = problem.input.packed();
  Bytes output(output_bytes(plan));
  algorithms::CallTimings timings;
  const Status status =
      algorithms::offload_planned_fft(*device, queue,
                                      {id, plan, Layout::bytes(input.data(), input.size()),
                                       Layout::bytes(output.data(), output.size()), false},
                                      timings);
  EXPECT_TRUE(status.ok()) << status.message();
  return output;
}

double bound(const FftPlan& plan, double c) {
  return c * std::log2(static_cast<double>(points(plan))) * (single(plan) ? 0x1p-23 : 0x1p-52);
}

// A device with `memory_bytes` at one of the places, its meter, and its plans.
struct Capped {
  Capped(Place place, std::uint64_t memory_bytes)
      : at(place, std::make_unique<MeteredDevice>(cpu_device(memory_bytes), meter)) {}

  Status run(FftProblem& problem, algorithms::CallTimings& timings) {
    FftPlan plan = problem.plan;
    plan.in_place = true;
    const algorithms::FftPlanner planner{[&](const FftPlan& part) { return plan_for(part); }, {}};
    return algorithms::offload_fft(
        at.device(), at.queue(), planner,
        {plan, problem.input.array(), problem.output_array(), problem.in_place}, timings);
  }

  // Makes each plan once, as connections do. Planning takes longer than these transforms.
  Result<PlanId> plan_for(const FftPlan& part) {
    for (const auto& [known, id] : plans) {
      if (known == part) return id;
    }
    OB_ASSIGN_OR_RETURN(const PlanId id, at.device().make_plan(part));
    plans.emplace_back(part, id);
    return id;
  }

  std::shared_ptr<Meter> meter = std::make_shared<Meter>();
  DeviceAt at;
  std::vector<std::pair<FftPlan, PlanId>> plans;
};

std::uint64_t data_bytes(const FftPlan& plan) {
  return std::max(input_bytes(plan), output_bytes(plan));
}

class FftLargeTest : public testing::TestWithParam<Place> {
 protected:
  void check(const FftPlan& plan, const std::vector<std::uint64_t>& batch, std::uint64_t share,
             double c = 1) {
    const bool in_place = uniform(random, 0, 1) == 0;
    FftProblem problem = fft_problem(plan, batch, in_place, random);
    const std::uint64_t cap = std::max<std::uint64_t>(8192, data_bytes(problem.plan) / share);
    SCOPED_TRACE(problem.describe() + ", device of " + std::to_string(cap) + " bytes");
    const Bytes wanted = expected(problem);
    Capped capped(GetParam(), cap);
    algorithms::CallTimings timings;
    const Status status = capped.run(problem, timings);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_LT(distance(plan, problem.packed_result(), wanted), bound(plan, c));
    EXPECT_TRUE(problem.rest_is_kept());
    EXPECT_LE(capped.meter->peak_bytes, cap);
    EXPECT_EQ(capped.meter->refusals, 0);
    EXPECT_EQ(capped.at.device().buffers(), 0);
    FftPlan there = problem.plan;
    there.in_place = true;
    const algorithms::FftTraffic foretold = algorithms::bytes_moved(there, cap);
    EXPECT_EQ(static_cast<double>(timings.bytes_to), foretold.bytes_to);
    EXPECT_EQ(static_cast<double>(timings.bytes_from), foretold.bytes_from);
    if (GetParam() != Place::local_hidden) return;  // at other places memory may be mapped
    EXPECT_EQ(capped.meter->written_bytes, timings.bytes_to);
    EXPECT_EQ(capped.meter->read_bytes, timings.bytes_from);
  }
  std::uint64_t share() { return std::uint64_t{1} << uniform(random, 1, 6); }
  std::uint64_t any_share() { return uniform<std::uint64_t>(random, 2, 100); }

  std::mt19937_64 random = fresh_random();
};

TEST_P(FftLargeTest, BatchesGoInParts) {
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r, FftKind::r2r}) {
    check(shape(kind, {uniform<std::uint64_t>(random, 60, 70)}, random), {700}, any_share());
    check(shape(kind, {uniform<std::uint64_t>(random, 5, 9), 11}, random), {3, 170}, any_share());
    check(shape(kind, {64, 8}, random), {9, 1, 5}, share());
  }
}

TEST_P(FftLargeTest, DimensionsGoOneAfterAnother) {
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r, FftKind::r2r}) {
    check(shape(kind, {128, 256}, random), {}, any_share());
    check(shape(kind, {211, 97}, random), {2}, any_share());
    check(shape(kind, {17, 36, 40}, random), {}, any_share());
    check(shape(kind,
                {uniform<std::uint64_t>(random, 2, 40), uniform<std::uint64_t>(random, 2, 40),
                 uniform<std::uint64_t>(random, 2, 40)},
                random),
          {uniform<std::uint64_t>(random, 1, 3)}, any_share());
    check(shape(kind, {5, 6, 7, 32}, random), {2}, any_share());
  }
}

TEST_P(FftLargeTest, ALongDimensionGoesAsTwo) {
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r}) {
    check(shape(kind, {1 << 16}, random), {}, any_share());
    check(shape(kind, {3 * 5 * 7 * 11 * 13}, random), {2}, any_share());
    check(shape(kind, {2 * 3 * 5 * 7 * 11 * 13}, random), {}, any_share());
    check(shape(kind, {101 * 103}, random), {3}, share());
    check(shape(kind, {3, 1 << 13}, random), {}, any_share());
    if (kind == FftKind::c2c) check(shape(kind, {1 << 13, 3}, random), {2}, any_share());
  }
}

TEST_P(FftLargeTest, AnAwkwardLengthGoesAsAConvolution) {
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r}) {
    check(shape(kind, {10007}, random), {}, any_share(), 4);
    check(shape(kind, {2 * 10007}, random), {2}, any_share(), 4);
    check(shape(kind, {10007, 3}, random), {}, any_share(), 4);
  }
}

TEST_P(FftLargeTest, ALongRealToRealDimensionGoesByWayOfOthers) {
  const auto kind_of = [&](FftPlan plan, std::size_t dimension, int kind) {
    plan.real[dimension] = static_cast<RealTransform>(kind);
    return plan;
  };
  const auto line = [&](std::uint64_t n, int kind) {
    return kind_of(shape(FftKind::r2r, {n}, random), 0, kind);
  };
  for (int kind = 0; kind <= 10; ++kind) {
    check(line(1 << 12, kind), {2}, any_share());
    check(line(3 * 5 * 7 * 11 * 13, kind), {}, any_share());
    check(kind_of(shape(FftKind::r2r, {3, 3000}, random), 1, kind), {}, any_share());
    check(kind_of(shape(FftKind::r2r, {3000, 3}, random), 0, kind), {2}, any_share());
    check(line(5003, kind), {}, any_share(), 4);
  }
}

INSTANTIATE_TEST_SUITE_P(at, FftLargeTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

class FftLargeFailureTest : public FftLargeTest {
 protected:
  FftProblem problem(FftKind kind, const std::vector<std::uint64_t>& n, bool in_place) {
    return fft_problem(shape(kind, n, random), {2}, in_place, random);
  }
};

TEST_P(FftLargeFailureTest, AnyOperationMayFail) {
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r, FftKind::r2r}) {
    for (const bool in_place : {false, true}) {
      for (const auto& n : {std::vector<std::uint64_t>{4096}, std::vector<std::uint64_t>{64, 48}}) {
        FftProblem p = problem(kind, n, in_place);
        SCOPED_TRACE(p.describe());
        const Bytes wanted = expected(p);
        Capped capped(GetParam(), std::max<std::uint64_t>(8192, data_bytes(p.plan) / 8));
        ForwardingDevice& device = capped.at.device();
        int failures = 0;
        for (int k = 1;; ++k) {
          device.fail_operation(k, Status(Code::device_error, "injected"));
          algorithms::CallTimings timings;
          const Status status = capped.run(p, timings);
          ASSERT_EQ(device.buffers(), 0);
          if (status.ok()) break;
          ++failures;
          ASSERT_EQ(status.code(), Code::device_error) << status.message();
          ASSERT_TRUE(p.input.memory() == p.before) << "operation " << k << " failed";
          ASSERT_TRUE(in_place || p.output.only_elements_changed());
          EXPECT_EQ(timings.bytes_to, 0u);
          device.fail_operation(0, {});
          ASSERT_TRUE(device.synchronize(capped.at.queue()).status.ok());
        }
        EXPECT_GE(failures, 20);
        EXPECT_LT(distance(p.plan, p.packed_result(), wanted), bound(p.plan, 1));
      }
    }
  }
}

TEST_P(FftLargeFailureTest, ADeviceThatOthersFilledGetsSmallerParts) {
  FftProblem p = problem(FftKind::c2c, {64, 128}, true);
  const Bytes wanted = expected(p);
  Capped capped(GetParam(), 65536);
  const BufferId taken = require(capped.at.device().allocate(40000));
  algorithms::CallTimings timings;
  const Status status = capped.run(p, timings);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LT(distance(p.plan, p.packed_result(), wanted), bound(p.plan, 1));
  EXPECT_GT(capped.meter->refusals, 0);
  EXPECT_LE(capped.meter->peak_bytes, 65536u);
  EXPECT_TRUE(capped.at.device().free(taken).ok());
}

TEST_P(FftLargeFailureTest, WhatCannotBeCutSmallEnoughIsOutOfMemory) {
  FftProblem line = problem(FftKind::r2r, {4096}, true);
  FftProblem plane = problem(FftKind::c2c, {64, 128}, true);
  const auto refused = [&](FftProblem& p, std::uint64_t cap) {
    Capped capped(GetParam(), cap);
    algorithms::CallTimings timings;
    const Status status = capped.run(p, timings);
    EXPECT_EQ(status.code(), Code::out_of_memory) << status.message();
    EXPECT_TRUE(p.input.memory() == p.before);
    EXPECT_EQ(capped.meter->peak_bytes, 0u);
    EXPECT_EQ(algorithms::bytes_moved(p.plan, cap).bytes_to, INFINITY);
  };
  refused(line, 4095);
  refused(plane, 4095);
}

TEST_P(FftLargeFailureTest, ADaemonThatGoesLeavesTheInput) {
  FftProblem p = problem(FftKind::c2c, {64, 128}, true);
  Capped capped(GetParam(), 16384);
  if (capped.at.daemon() == nullptr) return;
  capped.at.daemon()->stop();
  algorithms::CallTimings timings;
  EXPECT_FALSE(capped.run(p, timings).ok());
  EXPECT_TRUE(p.input.memory() == p.before);
}

INSTANTIATE_TEST_SUITE_P(at, FftLargeFailureTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
