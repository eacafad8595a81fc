// Compares transforms of strided arrays with the sum that defines them.

#include <complex>
#include <numbers>

#include "algorithms/offload.hpp"
#include "algorithms/place.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using Point = std::complex<double>;

class OffloadFftTest : public testing::TestWithParam<Place> {
 protected:
  // A batch of n0 x n1 transforms whose points lie `stride` apart.
  struct Arrays {
    FftPlan plan;
    std::vector<Point> memory;
    Layout layout;
    std::size_t at(std::uint64_t b, std::uint64_t i, std::uint64_t j) const {
      return ((b * plan.n[0] + i) * (plan.n[1] + 2) + j) * 3 + 1;
    }
  };
  static constexpr Point kPoison{-777, 777};

  Arrays arrays(std::uint64_t batch, std::uint64_t n0, std::uint64_t n1, bool in_place) {
    Arrays a;
    a.plan.rank = 2;
    a.plan.n = {n0, n1};
    a.plan.batch = batch;
    a.plan.in_place = in_place;
    a.memory.assign(a.at(batch, 0, 0) + 9, kPoison);
    const auto row = static_cast<std::int64_t>(3 * (n1 + 2) * sizeof(Point));
    const std::array<Layout::Dimension, 3> dimensions{
        Layout::Dimension{batch, row * static_cast<std::int64_t>(n0)}, Layout::Dimension{n0, row},
        Layout::Dimension{n1, 3 * static_cast<std::int64_t>(sizeof(Point))}};
    a.layout = Layout::strided(a.memory.data() + 1, sizeof(Point), dimensions);
    return a;
  }
  void fill(Arrays& a) {
    std::uniform_real_distribution<double> small(-1, 1);
    each(a, [&](Point& p, auto, auto, auto) { p = {small(random), small(random)}; });
  }
  template <class Visit>
  static void each(Arrays& a, Visit visit) {
    for (std::uint64_t b = 0; b < a.plan.batch; ++b) {
      for (std::uint64_t i = 0; i < a.plan.n[0]; ++i) {
        for (std::uint64_t j = 0; j < a.plan.n[1]; ++j) visit(a.memory[a.at(b, i, j)], b, i, j);
      }
    }
  }
  static Point transformed(const Arrays& a, std::uint64_t b, std::uint64_t k, std::uint64_t l) {
    Point sum = 0;
    for (std::uint64_t i = 0; i < a.plan.n[0]; ++i) {
      for (std::uint64_t j = 0; j < a.plan.n[1]; ++j) {
        const double turns = static_cast<double>(i * k) / static_cast<double>(a.plan.n[0]) +
                             static_cast<double>(j * l) / static_cast<double>(a.plan.n[1]);
        sum +=
            a.memory[a.at(b, i, j)] * std::polar(1.0, a.plan.sign * 2 * std::numbers::pi * turns);
      }
    }
    return sum;
  }

  DeviceAt at{GetParam()};
  std::mt19937_64 random = fresh_random();
};

TEST_P(OffloadFftTest, StridedArraysAreTransformedAndTheGapsKept) {
  for (const bool in_place : {true, false}) {
    Arrays input = arrays(3, 5, 8, in_place);
    fill(input);
    auto plan = at.device().make_plan(input.plan);
    if (!plan.ok()) GTEST_SKIP() << plan.status().message();
    const Arrays before = input;
    Arrays output = arrays(3, 5, 8, in_place);
    algorithms::CallTimings timings;
    const Status status = algorithms::offload_planned_fft(
        at.device(), at.queue(),
        {*plan, input.plan, input.layout, in_place ? input.layout : output.layout, in_place},
        timings);
    if (status.code() == Code::unavailable) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    Arrays& result = in_place ? input : output;
    std::vector<Point> rest = result.memory;
    each(result, [&](Point& p, auto b, auto i, auto j) {
      // 40 points have a size of up to sqrt(2) and an error of a few eps each.
      EXPECT_LT(std::abs(p - transformed(before, b, i, j)), 1e-13);
      rest[result.at(b, i, j)] = kPoison;
    });
    EXPECT_EQ(rest, std::vector<Point>(rest.size(), kPoison));
    if (!in_place) {
      EXPECT_EQ(input.memory, before.memory);
    }
    EXPECT_EQ(timings.bytes_to, 3u * 5 * 8 * 16);
    EXPECT_EQ(timings.bytes_from, timings.bytes_to);
    EXPECT_EQ(at.device().buffers(), 0);
  }
}

TEST_P(OffloadFftTest, AnyOperationMayFail) {
  Arrays input = arrays(2, 4, 4, true);
  fill(input);
  const std::vector<Point> before = input.memory;
  auto plan = at.device().make_plan(input.plan);
  if (!plan.ok()) GTEST_SKIP() << plan.status().message();
  algorithms::CallTimings timings;
  for (int n = 1;; ++n) {
    at.device().fail_operation(n, Status(Code::device_error, "injected"));
    const Status status = algorithms::offload_planned_fft(
        at.device(), at.queue(), {*plan, input.plan, input.layout, input.layout, true}, timings);
    if (status.code() == Code::unavailable) GTEST_SKIP() << status.message();
    if (status.ok()) {
      EXPECT_GT(n, 3);
      break;
    }
    ASSERT_EQ(input.memory, before) << "operation " << n << " failed";
    ASSERT_EQ(at.device().buffers(), 0);
    at.device().fail_operation(0, {});
    ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
  }
  EXPECT_NE(input.memory, before);
}

INSTANTIATE_TEST_SUITE_P(at, OffloadFftTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

}  // namespace
}  // namespace ob::test
