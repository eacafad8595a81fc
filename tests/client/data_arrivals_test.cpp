#include "client/data_arrivals.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace ob::client {
namespace {

TEST(DataArrivals, NothingIsMissingAtFirst) {
  DataArrivals arrivals;
  EXPECT_TRUE(arrivals.complete(100));
  EXPECT_EQ(arrivals.gate(100), nullptr);
}

TEST(DataArrivals, AGateOpensWithItsData) {
  DataArrivals arrivals;
  arrivals.note_oldest(5);
  EXPECT_EQ(arrivals.gate(4), nullptr);
  const auto fifth = arrivals.gate(5), ninth = arrivals.gate(9);
  arrivals.note_oldest(8);
  EXPECT_TRUE(fifth->is_open());
  EXPECT_FALSE(ninth->is_open());
  arrivals.note_oldest(DataArrivals::kNone);
  EXPECT_TRUE(ninth->is_open());
  EXPECT_TRUE(ninth->outcome().ok());
}

TEST(DataArrivals, AnEndOpensAllGates) {
  DataArrivals arrivals;
  arrivals.note_oldest(5);
  const auto before = arrivals.gate(5);
  arrivals.fail({Code::connection_lost, "cut"});
  ASSERT_TRUE(before->is_open());
  EXPECT_EQ(before->outcome().code(), Code::connection_lost);
  const auto after = arrivals.gate(6);
  ASSERT_TRUE(after->is_open());
  EXPECT_EQ(after->outcome().code(), Code::connection_lost);
}

TEST(DataArrivals, NoGateStaysClosedBesideArrivals) {
  for (int turn = 0; turn < 2000; ++turn) {
    DataArrivals arrivals;
    arrivals.note_oldest(1);
    std::shared_ptr<Gate> gate;
    std::thread asks([&] { gate = arrivals.gate(1); });
    arrivals.note_oldest(DataArrivals::kNone);
    asks.join();
    ASSERT_TRUE(gate == nullptr || gate->is_open()) << turn;
  }
}

}  // namespace
}  // namespace ob::client
