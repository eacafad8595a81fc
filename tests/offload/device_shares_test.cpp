// Tests the number of devices for which a call is worth it.

#include "offload/device_shares.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>

namespace ob::offload {
namespace {

constexpr double kTera = 1e12;
constexpr double kGbit = 1e9 / 8;

struct Given {
  const Descriptor& routine;
  Argument arguments[kMaxArguments];

  Given(std::string_view name, int edge) : routine(*routines::find(name)) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = routine.values[i].front();
      if (routine.kinds[i] == Kind::dim) arguments[i].dim = edge;
      if (routine.kinds[i] == Kind::matrix) arguments[i].host = {nullptr, edge};
      if (routine.argument_names[i] == "alpha") arguments[i].scalar = {1, 0};
    }
  }
  std::vector<double> choose(const std::vector<Candidate>& devices) const {
    std::vector<double> predicted;
    for (std::size_t count = 1; count <= devices.size(); ++count) {
      predicted.push_back(predict_shares(routine, arguments, std::span(devices).first(count)));
    }
    return shares_of_all(routine, arguments, std::span(devices).first(choose_number(predicted)));
  }
  double seconds(const std::vector<Candidate>& devices) const {
    return predict_shares(routine, arguments, devices);
  }
};

Candidate device(double rate, double link, std::size_t server, std::uint64_t memory_bytes = 0) {
  return {
      {.to_bytes_per_s = link, .from_bytes_per_s = link, .flop_per_s = rate}, server, memory_bytes};
}

std::vector<Candidate> equal(std::size_t count, double rate, double link, bool own_links) {
  std::vector<Candidate> devices;
  for (std::size_t i = 0; i < count; ++i) devices.push_back(device(rate, link, own_links ? i : 0));
  return devices;
}

TEST(DeviceShares, ComputingIsWorthAllOfThem) {
  const Given product("dgemm", 8000);
  const auto devices = equal(4, 1 * kTera, 100 * kGbit, true);
  EXPECT_EQ(product.choose(devices).size(), 4u);
  const double gain = product.seconds({devices[0]}) / product.seconds(devices);
  EXPECT_GT(gain, 3);
  EXPECT_LE(gain, 4.001);
}

TEST(DeviceShares, AFullLinkIsWorthNoMore) {
  // 12 us of flops per 100 us of transfer: one device behind the link uses the full link
  EXPECT_EQ(Given("dgemm", 2000).choose(equal(4, 60 * kTera, 10 * kGbit, false)).size(), 1u);
  EXPECT_EQ(Given("dtrsm", 500).choose(equal(4, 60 * kTera, 10 * kGbit, false)).size(), 1u);
}

TEST(DeviceShares, SmallCallsStayTogether) {
  for (const char* name : {"dgemm", "zherk", "dtrsm", "ssyr2k", "csymm"}) {
    EXPECT_EQ(Given(name, 64).choose(equal(8, 1 * kTera, 100 * kGbit, true)).size(), 1u) << name;
  }
}

TEST(DeviceShares, UnknownRatesAreNoReason) {
  EXPECT_EQ(Given("dgemm", 8000).choose(equal(4, 0, 100 * kGbit, true)).size(), 1u);
}

TEST(DeviceShares, TheChosenNumberIsNeverWorseThanOneOrMuchWorseThanAnother) {
  for (const char* name : {"dgemm", "dsyrk", "zher2k", "dtrmm", "dsymm"}) {
    for (const int edge : {100, 500, 1000, 3000, 10000}) {
      for (const double rate : {1 * kTera, 10 * kTera, 60 * kTera}) {
        for (const double link : {1 * kGbit, 10 * kGbit, 100 * kGbit}) {
          for (const bool own_links : {false, true}) {
            const Given call(name, edge);
            const auto devices = equal(8, rate, link, own_links);
            const std::size_t chosen = call.choose(devices).size();
            const auto first = [&](std::size_t count) {
              return call.seconds({devices.begin(), devices.begin() + count});
            };
            EXPECT_LE(first(chosen), first(1) * 1.0001);
            for (std::size_t count = 1; count <= 8; ++count) {
              EXPECT_LE(first(chosen), first(count) * 1.06) << name << " " << edge;
            }
          }
        }
      }
    }
  }
}

TEST(DeviceShares, AFasterDeviceGetsMore) {
  const Given product("dgemm", 8000);
  const auto weights =
      product.choose({device(3 * kTera, 100 * kGbit, 0), device(1 * kTera, 100 * kGbit, 1)});
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_NEAR(weights[0] / weights[1], 3, 0.5);
}

TEST(DeviceShares, MemoryIsAReasonByItself) {
  // With tiles of a quarter of the operands much data is sent twice. Two such devices send less
  // each.
  const std::uint64_t little = std::uint64_t{3} * 8000 * 8000 * 8 / 16;
  const std::vector<Candidate> devices{device(60 * kTera, 100 * kGbit, 0, little),
                                       device(60 * kTera, 100 * kGbit, 1, little)};
  const Given product("dgemm", 8000);
  EXPECT_GT(product.seconds({devices[0]}),
            1.5 * product.seconds({device(60 * kTera, 100 * kGbit, 0)}));
  EXPECT_EQ(product.choose(devices).size(), 2u);
}

}  // namespace
}  // namespace ob::offload
