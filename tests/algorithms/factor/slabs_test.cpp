// Tests matrices larger than the memory of all devices together: the results, the traffic, and
// matrices that do not fit.

#include <cmath>
#include <set>

#include "algorithms/factor/call.hpp"
#include "algorithms/factor/cholesky.hpp"
#include "algorithms/factor/factor_cases.hpp"
#include "algorithms/factor/lu.hpp"
#include "algorithms/factor/plan.hpp"
#include "algorithms/factor/qr.hpp"
#include "algorithms/factor/step_model.hpp"
#include "algorithms/place.hpp"
#include "routines/agreement.hpp"
#include "routines/random_problem.hpp"
#include "support/original.hpp"

namespace ob::test {
namespace {

using algorithms::FactorShape;
using Kind = FactorShape::Kind;

double all_bytes(const FactorShape& shape) {
  return static_cast<double>(shape.rows()) * static_cast<double>(shape.n) * shape.element_bytes;
}

// The memory with which all devices together hold a part of the matrix in addition to the memory
// for blocks of one column. Each device holds at least one column.
std::uint64_t memory_for(const FactorShape& shape, std::size_t devices, double part) {
  const double column = static_cast<double>(shape.rows()) * shape.element_bytes;
  const double share = std::max(column, part * all_bytes(shape) / static_cast<double>(devices));
  return static_cast<std::uint64_t>(factor_memory_bytes(shape, 1, 0, 0) + share) + 1;
}

// The strips of the second half of posv and gesv take more buffers, each of at least 4096 bytes.
std::uint64_t memory_for(const Descriptor& routine, const FactorShape& shape, std::size_t devices) {
  const std::uint64_t memory = memory_for(shape, devices, 0.25);
  return routine.base.ends_with("sv") ? memory + 6 * 4096 : memory;
}

class Devices {
 public:
  Devices(std::size_t count, std::uint64_t memory_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      made_.push_back(cpu_device(memory_bytes));
      used_.push_back(made_.back().get());
    }
    exchange_ = host_exchange(used_, 1024, memory_bytes);
  }
  algorithms::HostExchange& exchange() { return *exchange_; }
  std::uint64_t sent() const {
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < used_.size(); ++at)
      bytes += exchange_->traffic(algorithms::Rank(at)).sent;
    return bytes;
  }
  std::uint64_t fetched() const {
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < used_.size(); ++at)
      bytes += exchange_->traffic(algorithms::Rank(at)).fetched;
    return bytes;
  }

 private:
  std::vector<std::unique_ptr<Device>> made_;
  std::vector<Device*> used_;
  std::unique_ptr<algorithms::HostExchange> exchange_;
};

TEST(FactorSlabs, CallsGiveTheOriginalsResultInAQuarterOfTheMemory) {
  auto random = fresh_random();
  int in_slabs = 0;
  for (const Descriptor& routine : routines::all()) {
    if (!algorithms::can_be_factored(routine)) continue;
    for (const std::size_t devices : {1, 2, 4}) {
      for (int round = 0; round < 2; ++round) {
        const Problem given = random_work(routine, random, 160);
        Problem expected = given;
        run_original(expected);
        Problem actual = given;
        const FactorShape shape = algorithms::factor_shape(routine, actual.arguments);
        const std::uint64_t memory = memory_for(routine, shape, devices);
        const std::uint64_t block = algorithms::default_block(shape, memory);
        SCOPED_TRACE(given.text() + " nb=" + std::to_string(block) + " on " +
                     std::to_string(devices) + " of " + std::to_string(memory));
        Devices there(devices, memory);
        const auto ranks = there.exchange().model().ranks;
        const auto distribution = algorithms::distribute_columns(shape, ranks, {devices, block});
        ASSERT_TRUE(distribution);
        if (distribution->slabs() > 1) ++in_slabs;
        algorithms::CallTimings timings;
        const Status status = algorithms::offload_factorization(
            there.exchange(), routine, actual.arguments, {devices, block}, timings);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(difference(given, expected, actual), "");
      }
    }
  }
  EXPECT_GT(in_slabs, 60);  // at least half of 120; some matrices are small or narrow
}

// --- traffic -------------------------------------------------------------------------------------

constexpr std::uint64_t kOrder = 400;

// Runs a factorization and checks that the panels sent again are exactly those of the model.
double brought(Kind kind, std::size_t devices, double part, std::uint64_t block) {
  auto random = fresh_random();
  const FactorShape shape{kind, kOrder, kOrder};
  const std::uint64_t memory = memory_for(shape, devices, part);
  Devices there(devices, memory);
  FactorMatrix a(Precision::d, kOrder, kOrder, kOrder);
  a.fill_definite(random);
  const algorithms::FactorPlan plan{devices, block};
  algorithms::ExchangeModel model = there.exchange().model();
  const auto distribution = algorithms::distribute_columns(shape, model.ranks, plan);
  EXPECT_TRUE(distribution && distribution->slabs() > 1);
  Status status;
  if (kind == Kind::cholesky) {
    algorithms::CholeskyFactorization made(
        there.exchange(), {Precision::d, true, kOrder, a.operand()}, *distribution);
    status = made.run();
  } else if (kind == Kind::lu) {
    algorithms::LuFactorization made(there.exchange(), {Precision::d, kOrder, kOrder, a.operand()},
                                     *distribution);
    status = made.run();
  } else {
    algorithms::QrFactorization made(there.exchange(), {Precision::d, kOrder, kOrder, a.operand()},
                                     *distribution);
    status = made.run();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  const double matrix = 8.0 * kOrder * (kind == Kind::cholesky ? (kOrder + 1) / 2.0 : kOrder);
  for (algorithms::RankModel& rank : model.ranks) rank.flop_per_s = 1e12;
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = 1e9;
  const double played = simulate_factorization(shape, model, plan).reloaded_bytes;
  EXPECT_EQ(static_cast<double>(there.sent()) - matrix, played);
  EXPECT_LT(static_cast<double>(there.fetched()), 1.02 * matrix + 16 * kOrder);  // each once
  return played;
}

TEST(FactorSlabs, PanelsAreBroughtOncePerSlabAndDevice) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    for (const double part : {0.12, 0.25, 0.5}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ' ' + std::to_string(part));
      const FactorShape shape{kind, kOrder, kOrder};
      const double expected = reloaded_bytes(shape, 4, memory_for(shape, 1, part));
      const double measured = brought(kind, 1, part, 4);
      // slabs consist of whole blocks
      EXPECT_GT(measured, 0.85 * expected);
      EXPECT_LT(measured, 1.35 * expected);
    }
  }
}

// On several devices slabs are wider, but every panel is sent to each device. So each device
// receives as much as one device alone.
TEST(FactorSlabs, DevicesTogetherAreBroughtAsMuchAsOneOfTheirMemory) {
  for (const Kind kind : {Kind::cholesky, Kind::lu, Kind::qr}) {
    const double one = brought(kind, 1, 0.25, 2);
    const double two = brought(kind, 2, 0.25, 2);
    EXPECT_GT(two, 0.8 * 2 * one);
    EXPECT_LT(two, 1.7 * 2 * one);  // each device also holds panels
  }
}

// Lower bounds of the traffic, to leading order: every order of LU moves at least
// 2 n^3 / (3 sqrt M) elements, and every order of Cholesky at least n^3 / (3 sqrt M).
// Source: Kwasniewski et al., "On the parallel I/O optimality of linear algebra kernels" (SC 2021)
TEST(FactorSlabs, TrafficIsNearTheLeastThatIsPossible) {
  for (const Kind kind : {Kind::cholesky, Kind::lu}) {
    const FactorShape shape{kind, kOrder, kOrder};
    const std::uint64_t memory = memory_for(shape, 1, 0.25);
    const double root = std::sqrt(static_cast<double>(memory) / 8);
    const double n = kOrder;
    const double least = 8 * n * n * n / (3 * root) * (kind == Kind::lu ? 2 : 1);
    const double matrix = 8 * n * n * (kind == Kind::lu ? 1.0 : 0.5);
    const double all = matrix + brought(kind, 1, 0.25, 4);
    EXPECT_LT(all, 2.5 * least);
  }
}

// --- operations across slabs ---------------------------------------------------------------------

TEST(FactorSlabs, PivotsOfAllSlabsAreTheOriginals) {
  auto random = fresh_random();
  constexpr std::uint64_t kN = 96;
  const Descriptor& getrf = *routines::find(std::string_view("dgetrf"));
  FactorMatrix a(Precision::d, kN, kN, kN + 3);
  a.fill(random);
  // the largest element of each column is far below the slab of the column
  for (std::uint64_t j = 0; j < kN; ++j) a.set(kN - 1 - j, j, 100.0 + static_cast<double>(j));
  FactorMatrix b = a;
  const auto call = [&](FactorMatrix& matrix, std::vector<std::int64_t>& pivots, std::int64_t& info,
                        CallArguments& made) {
    made.items[0].dim = made.items[1].dim = kN;
    made.items[2].host = matrix.operand();
    made.items[3].host = {pivots.data(), 0};
    made.items[4].host = {&info, 0};
  };
  std::vector<std::int64_t> pivots[2] = {std::vector<std::int64_t>(kN, -7),
                                         std::vector<std::int64_t>(kN, -8)};
  std::int64_t infos[2] = {-1, -1};
  CallArguments calls[2];
  call(a, pivots[0], infos[0], calls[0]);
  call(b, pivots[1], infos[1], calls[1]);
  const auto whole = host_exchange(cpu_devices(1), 1024);
  Devices little(2, memory_for({Kind::lu, kN, kN}, 2, 0.25));
  algorithms::CallTimings timings;
  ASSERT_TRUE(
      algorithms::offload_factorization(*whole, getrf, calls[0].items, {1, 96}, timings).ok());
  ASSERT_TRUE(
      algorithms::offload_factorization(little.exchange(), getrf, calls[1].items, {2, 3}, timings)
          .ok());
  EXPECT_EQ(pivots[0], pivots[1]);
  EXPECT_EQ(infos[0], 0);
  EXPECT_EQ(infos[1], 0);
  EXPECT_GT(std::count_if(pivots[1].begin(), pivots[1].end(), [](auto p) { return p > 48; }), 48);
}

TEST(FactorSlabs, WhatDoesNotFitAtAllIsSaid) {
  auto random = fresh_random();
  for (const Descriptor& routine : routines::all()) {
    if (!algorithms::can_be_factored(routine)) continue;
    const Problem given = random_work(routine, random, 50);
    Problem actual = given;
    Devices there(1, 16384);
    algorithms::CallTimings timings;
    const Status status = algorithms::offload_factorization(there.exchange(), routine,
                                                            actual.arguments, {1, 64}, timings);
    EXPECT_EQ(status.code(), Code::out_of_memory);
    EXPECT_TRUE(actual.memory == given.memory);
  }
}

// This includes the second half of posv and gesv.
TEST(FactorSlabs, ADeviceThatFailsAnywhereLeavesTheCallersMemory) {
  auto random = fresh_random();
  for (const char* name : {"dposv", "zgesv"}) {
    const Descriptor& routine = *routines::find(std::string_view(name));
    Problem given = random_work(routine, random, 110);
    while (algorithms::factor_shape(routine, given.arguments).n < 90) {
      given = random_work(routine, random, 110);
    }
    Problem expected = given;
    run_original(expected);
    const FactorShape shape = algorithms::factor_shape(routine, given.arguments);
    const std::uint64_t memory = memory_for(routine, shape, 1);
    const algorithms::FactorPlan plan{1, 8};
    DeviceAt at(Place::local, cpu_device(memory));
    std::vector<Device*> devices{&at.device()};
    int failures = 0;
    for (int n = 1;; ++n, ++failures) {
      Problem actual = given;
      at.device().fail_operation(n, Status(Code::device_error, "injected"));
      Status status;
      {
        const auto exchange = host_exchange(devices, 512, memory);
        algorithms::CallTimings timings;
        status =
            algorithms::offload_factorization(*exchange, routine, actual.arguments, plan, timings);
      }
      at.device().fail_operation(0, {});
      ASSERT_EQ(at.device().buffers(), 0);
      if (status.ok()) {
        ASSERT_EQ(difference(given, expected, actual), "");
        break;
      }
      ASSERT_EQ(status.code(), Code::device_error) << status.message();
      ASSERT_TRUE(actual.memory == given.memory) << name << ": operation " << n << " failed";
    }
    EXPECT_GT(failures, 10) << name;
  }
}

}  // namespace
}  // namespace ob::test
