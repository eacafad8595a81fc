// Tests factorizations with simulated devices and links: the traffic is that of the model.
// `outboard bench devices` measures their times.

#include "algorithms/exchange/simulated_exchange.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "algorithms/factor/cholesky.hpp"
#include "algorithms/factor/qr.hpp"
#include "algorithms/factor/step_model.hpp"
#include "backend/null/backend.hpp"

namespace ob::test {
namespace {

using algorithms::ExchangeModel;
using algorithms::FactorShape;
using algorithms::Route;
using algorithms::SimulatedExchange;

constexpr std::uint64_t kOrder = 300;
constexpr std::uint64_t kBlock = 32;

struct Devices {
  explicit Devices(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto made = null::create({.memory_bytes = 64 << 20, .rate_gflops = 1e6});
      owned.push_back(std::move(made).value());
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device*> all;
};

ExchangeModel fast_model(std::size_t devices, Route route) {
  ExchangeModel model;
  model.ranks.assign(devices, {1e15, 1e15, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = 1e12;
  model.route = route;
  return model;
}

template <class Factorization, class Problem>
void expect_traffic_of_model(FactorShape::Kind kind, std::size_t devices, Route route,
                             const Problem& problem, double matrix, std::uint64_t memory_bytes) {
  Devices made(devices);
  ExchangeModel model = fast_model(devices, route);
  for (algorithms::RankModel& rank : model.ranks) rank.memory_bytes = memory_bytes;
  auto exchange = SimulatedExchange::create(made.all, model);
  ASSERT_TRUE(exchange.ok()) << exchange.status().message();
  const FactorShape shape{kind, kOrder, kOrder};
  const algorithms::FactorPlan plan{devices, kBlock, 0};
  const auto distribution = algorithms::distribute_columns(shape, model.ranks, plan);
  ASSERT_TRUE(distribution);
  EXPECT_EQ(distribution->slabs() > 1, memory_bytes != 0);
  Factorization factorization(**exchange, problem, *distribution);
  const Status status = factorization.run();
  ASSERT_TRUE(status.ok()) << status.message();
  algorithms::Traffic all;
  for (std::size_t at = 0; at < devices; ++at) {
    all.sent += (*exchange)->traffic(algorithms::Rank(at)).sent;
    all.received += (*exchange)->traffic(algorithms::Rank(at)).received;
  }
  const algorithms::FactorTimes played = simulate_factorization(shape, model, plan);
  EXPECT_DOUBLE_EQ(static_cast<double>(all.received), played.received_bytes);
  // panels of reflectors include their factors
  EXPECT_DOUBLE_EQ(static_cast<double>(all.sent), matrix + played.reloaded_bytes);
}

TEST(SimulatedExchange, CarriesWhatTheModelSays) {
  double nothing = 0;  // elements that are never read
  const HostOperand a{&nothing, kOrder};
  constexpr double kAll = 8.0 * kOrder * kOrder;
  constexpr std::uint64_t kOne = 8 * kOrder * kBlock;
  constexpr std::uint64_t kHalf = 8 * kOrder * kOrder / 2;
  constexpr std::uint64_t kRest = 2 * kOne + (32 << 10);  // other panels, and rounding losses
  for (const Route route : {Route::ring, Route::relay}) {
    for (const std::size_t devices : {1, 2, 3, 5}) {
      for (const std::uint64_t memory :
           {std::uint64_t{0}, kRest + std::max(kOne, kHalf / devices)}) {
        expect_traffic_of_model<algorithms::QrFactorization>(
            FactorShape::Kind::qr, devices, route,
            algorithms::QrFactorization::Problem{Precision::d, kOrder, kOrder, a}, kAll, memory);
        expect_traffic_of_model<algorithms::CholeskyFactorization>(
            FactorShape::Kind::cholesky, devices, route,
            algorithms::CholeskyFactorization::Problem{Precision::d, true, kOrder, a},
            8.0 * kOrder * (kOrder + 1) / 2, memory);
      }
    }
  }
}

TEST(SimulatedExchange, AFailingDeviceEndsIt) {
  Devices made(3);
  const auto few = null::create({.memory_bytes = 4096, .rate_gflops = 1e6});
  made.all[1] = few->get();
  auto exchange = SimulatedExchange::create(made.all, fast_model(3, Route::ring));
  ASSERT_TRUE(exchange.ok());
  double nothing = 0;
  algorithms::QrFactorization qr(**exchange, {Precision::d, kOrder, kOrder, {&nothing, kOrder}},
                                 {kOrder, kBlock, 3});
  EXPECT_EQ(qr.run().code(), Code::out_of_memory);
}

TEST(SimulatedExchange, NeedsRates) {
  Devices made(1);
  EXPECT_EQ(SimulatedExchange::create(made.all, {}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace ob::test
