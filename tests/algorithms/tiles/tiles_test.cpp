// Compares calls whose operands exceed the device's memory with the original library.

#include "algorithms/tiles/tiles.hpp"

#include <cmath>

#include "algorithms/metered_device.hpp"
#include "algorithms/panels/panel_problems.hpp"
#include "algorithms/place.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "algorithms/tiles/sizes.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

constexpr std::uint64_t kUnit = 4096;  // the unit of device memory [bytes]

std::vector<const Descriptor*> routines_in_tiles() {
  std::vector<const Descriptor*> found;
  for (const Descriptor& routine : routines::all()) {
    if (algorithms::can_be_split(routine)) found.push_back(&routine);
  }
  return found;
}

// Ten buffers may each lose a unit. The remaining memory is small: a few columns of 200 elements.
std::uint64_t little_memory(const Problem& problem, double part) {
  const double all = algorithms::bytes_of_all(*problem.routine, problem.arguments);
  return 10 * kUnit + std::max<std::uint64_t>(4 * kUnit, static_cast<std::uint64_t>(part * all));
}

class TilesTest : public testing::TestWithParam<Place> {};

TEST_P(TilesTest, GiveTheOriginalsResult) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_tiles()) {
    for (int round = 0; round < 12; ++round) {
      const Problem given = random_work(*routine, random, round < 8 ? 40 : 130);
      Problem expected = given;
      run_original(expected);
      const std::uint64_t memory = little_memory(given, 0.05 + 0.1 * (round % 4));
      DeviceAt at(GetParam(), cpu_device(memory));
      Problem actual = given;
      algorithms::CallTimings timings;
      const Status status = algorithms::offload_tiles(
          {at.device(), at.queue(), *routine, actual.arguments, timings}, {}, memory);
      ASSERT_TRUE(status.ok()) << given.text() << " in " << memory << ": " << status.message();
      ASSERT_EQ(difference(given, expected, actual), "") << memory;
      EXPECT_EQ(at.device().buffers(), 0);
    }
  }
}

// Runs the parts one after another on one device, because parts do not depend on each other.
TEST_P(TilesTest, PartsMakeTheWhole) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_tiles()) {
    DeviceAt at(GetParam());
    for (int round = 0; round < 12; ++round) {
      const Problem given = random_work(*routine, random, round < 8 ? 40 : 300);
      Problem expected = given;
      run_original(expected);
      Problem actual = given;
      std::vector<double> weights(uniform(random, 1U, 5U));
      for (double& weight : weights) weight = uniform(random, 1, 5);
      auto parts = algorithms::split_call(*routine, actual.arguments, weights);
      ASSERT_GE(parts.size(), 1u);
      ASSERT_LE(parts.size(), weights.size());
      std::shuffle(parts.begin(), parts.end(), random);
      for (const auto& part : parts) {
        algorithms::CallTimings timings;
        const Status status = algorithms::offload_tiles(
            {at.device(), at.queue(), *routine, part.arguments.items, timings}, part.diagonal,
            std::uint64_t{1} << 26);
        ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
      }
      ASSERT_EQ(difference(given, expected, actual), "") << weights.size() << " weights";
    }
  }
}

TEST_P(TilesTest, AnyOperationMayFail) {
  auto random = fresh_random();
  for (const char* name : {"zgemm", "dtrsm", "cher2k", "ssymm"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    Problem given = random_work(routine, random, 24);
    set_beta(given, {0.5, -1});  // C is read, so it must not change
    Problem expected = given;
    run_original(expected);
    const std::uint64_t memory = little_memory(given, 0.2);
    DeviceAt at(GetParam(), cpu_device(memory));
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      Problem actual = given;
      at.device().fail_operation(n, Status(Code::device_error, "injected"));
      algorithms::CallTimings timings;
      const Status status = algorithms::offload_tiles(
          {at.device(), at.queue(), routine, actual.arguments, timings}, {}, memory);
      at.device().fail_operation(0, {});
      if (status.ok()) {
        ASSERT_EQ(difference(given, expected, actual), "");
        break;
      }
      ASSERT_EQ(status.code(), Code::device_error);
      ASSERT_TRUE(actual.memory == given.memory) << name << ": operation " << n << " failed";
      ASSERT_EQ(at.device().buffers(), 0);
      ASSERT_TRUE(at.device().synchronize(at.queue()).status.ok());
    }
    EXPECT_GT(failures, 5) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(at, TilesTest,
                         testing::Values(Place::local, Place::local_hidden, Place::tcp, Place::shm),
                         place_name);

// --- traffic -------------------------------------------------------------------------------------

struct Measured {
  double sent_bytes = 0;
  double returned_bytes = 0;
  std::uint64_t peak_bytes = 0;
};

Measured run_on_little_memory(const Problem& problem, std::uint64_t memory) {
  auto meter = std::make_shared<Meter>();
  MeteredDevice device(null_device(memory), meter);
  const QueueId queue = require(device.create_queue());
  algorithms::CallTimings timings;
  const Status status = algorithms::offload_tiles(
      {device, queue, *problem.routine, problem.arguments, timings}, {}, memory);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(timings.bytes_to, meter->written_bytes);
  EXPECT_EQ(timings.bytes_from, meter->read_bytes);
  return {static_cast<double>(meter->written_bytes), static_cast<double>(meter->read_bytes),
          meter->peak_bytes};
}

Problem square(const char* name, std::int64_t edge) {
  auto random = fresh_random();
  const Descriptor& routine = *routines::find(std::string_view(name));
  Problem problem = random_work(routine, random, 2);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::dim) problem.arguments[i].dim = edge;
    if (routine.kinds[i] != Kind::matrix) continue;
    problem.lds[i] = edge;
    problem.arguments[i].host.ld = edge;
    problem.memory[i].assign(static_cast<std::size_t>(edge * edge) * 8, 0);
  }
  problem.point();
  problem.operands = routine.operands(problem.arguments);
  return problem;
}

TEST(TileTraffic, OfAProductIsThatOfTheModelAndNearTheLeast) {
  const std::int64_t n = 1600;
  Problem problem = square("dgemm", n);
  const double all = 3.0 * n * n * 8;
  for (const int part : {4, 8, 16, 64}) {
    const auto memory = static_cast<std::uint64_t>(all / part) + 10 * kUnit;
    const Measured seen = run_on_little_memory(problem, memory);
    const std::uint64_t elements = (memory - 10 * kUnit) / 8;
    const algorithms::TiledShape shape{n, n, n};
    const algorithms::TileSizes sizes = algorithms::choose_tiles(shape, elements);
    const double model = 8 * algorithms::tile_traffic(shape, sizes);
    EXPECT_DOUBLE_EQ(seen.sent_bytes + seen.returned_bytes, model);
    // 2 m n k / b + 2 m n with b^2 + 4 b kb = M; C is not sent
    const double kb = 32;
    const double b = std::sqrt(4 * kb * kb + static_cast<double>(elements)) - 2 * kb;
    const double cube = static_cast<double>(n) * n * n;
    EXPECT_LE(model, 1.1 * 8 * (2 * cube / b + 2.0 * n * n));
    EXPECT_LE(seen.peak_bytes, memory);
    const double least = 8 * algorithms::least_traffic(shape, elements);
    std::printf("memory 1/%d: tiles of %llu x %llu, panels of %llu, %.2f times the least\n", part,
                static_cast<unsigned long long>(sizes.rows),
                static_cast<unsigned long long>(sizes.cols),
                static_cast<unsigned long long>(sizes.depth), model / least);
    if (part >= 16) EXPECT_LT(model, 1.7 * least);  // the traffic of C is small here
  }
}

TEST(TileTraffic, MemoryIsNeverExceeded) {
  auto random = fresh_random();
  for (const Descriptor* routine : routines_in_tiles()) {
    for (int round = 0; round < 20; ++round) {
      const Problem problem = random_work(*routine, random, 200);
      const std::uint64_t memory = little_memory(problem, 0.03 * uniform(random, 1, 30));
      EXPECT_LE(run_on_little_memory(problem, memory).peak_bytes, memory) << problem.text();
    }
  }
}

TEST(TileSizes, FitAndCover) {
  auto random = fresh_random();
  for (int round = 0; round < 2000; ++round) {
    const algorithms::TiledShape shape{uniform(random, 1ULL, 5000ULL),
                                       uniform(random, 1ULL, 5000ULL),
                                       uniform(random, 1ULL, 5000ULL), uniform(random, 1U, 2U)};
    const std::uint64_t memory = uniform(random, 40ULL, 4'000'000ULL);
    const algorithms::TileSizes s = algorithms::choose_tiles(shape, memory);
    ASSERT_TRUE(s.fits()) << memory;
    EXPECT_LE(s.rows, shape.rows);
    EXPECT_LE(s.cols, shape.cols);
    EXPECT_LE(s.depth, shape.depth);
    EXPECT_LE(s.rows * s.cols + 2 * shape.factors * s.depth * (s.rows + s.cols), memory);
    const algorithms::StripSizes strips =
        algorithms::choose_strips(shape.rows, shape.cols, shape.factors, memory);
    if (!strips.fits()) continue;
    EXPECT_LE(
        shape.factors * shape.rows * strips.width + 2 * strips.depth * (shape.rows + strips.depth),
        memory);
  }
}

}  // namespace
}  // namespace ob::test
