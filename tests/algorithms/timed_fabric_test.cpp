// Factorizations on devices and links that only keep time: what travels is what the model says.
// How long they take is measured by `outboard bench devices`.

#include "algorithms/timed_fabric.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "algorithms/factor_cholesky.hpp"
#include "algorithms/factor_qr.hpp"
#include "algorithms/step_model.hpp"
#include "backend/null/backend.hpp"

namespace ob::test {
namespace {

using algorithms::FabricModel;
using algorithms::FactorShape;
using algorithms::Route;
using algorithms::TimedFabric;

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

FabricModel fast_model(std::size_t devices, Route route) {
  FabricModel model;
  model.ranks.assign(devices, {1e15, 1e15, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = 1e12;
  model.route = route;
  return model;
}

template <class Factorization, class Problem>
void expect_traffic_of_model(FactorShape::Kind kind, std::size_t devices, Route route,
                             const Problem& problem, double sent) {
  Devices made(devices);
  const FabricModel model = fast_model(devices, route);
  auto fabric = TimedFabric::create(made.all, model);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  Factorization factorization(**fabric, problem, kBlock);
  const Status status = factorization.run();
  ASSERT_TRUE(status.ok()) << status.message();
  algorithms::Traffic all;
  for (std::size_t at = 0; at < devices; ++at) {
    all.sent += (*fabric)->traffic(at).sent;
    all.received += (*fabric)->traffic(at).received;
  }
  const FactorShape shape{kind, kOrder, kOrder};
  EXPECT_DOUBLE_EQ(static_cast<double>(all.received),
                   play_factorization(shape, model, {devices, kBlock, 0}).received_bytes);
  EXPECT_DOUBLE_EQ(static_cast<double>(all.sent), sent);
}

TEST(TimedFabric, CarriesWhatTheModelSays) {
  double nothing = 0;  // elements that nobody looks at
  const HostOperand a{&nothing, kOrder};
  constexpr double kAll = 8.0 * kOrder * kOrder;
  for (const Route route : {Route::ring, Route::relay}) {
    for (const std::size_t devices : {1, 2, 3, 5}) {
      expect_traffic_of_model<algorithms::QrFactorization>(
          FactorShape::Kind::qr, devices, route,
          algorithms::QrFactorization::Problem{Precision::d, kOrder, kOrder, a}, kAll);
      expect_traffic_of_model<algorithms::CholeskyFactorization>(
          FactorShape::Kind::cholesky, devices, route,
          algorithms::CholeskyFactorization::Problem{Precision::d, true, kOrder, a},
          8.0 * kOrder * (kOrder + 1) / 2);
    }
  }
}

TEST(TimedFabric, AFailingDeviceEndsIt) {
  Devices made(3);
  const auto few = null::create({.memory_bytes = 4096, .rate_gflops = 1e6});
  made.all[1] = few->get();
  auto fabric = TimedFabric::create(made.all, fast_model(3, Route::ring));
  ASSERT_TRUE(fabric.ok());
  double nothing = 0;
  algorithms::QrFactorization qr(**fabric, {Precision::d, kOrder, kOrder, {&nothing, kOrder}},
                                 kBlock);
  EXPECT_EQ(qr.run().code(), Code::out_of_memory);
}

TEST(TimedFabric, NeedsRates) {
  Devices made(1);
  EXPECT_EQ(TimedFabric::create(made.all, {}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace ob::test
