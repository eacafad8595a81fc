// Compares arrival times with values computed by hand.

#include "algorithms/exchange/link_clock.hpp"

#include <gtest/gtest.h>

namespace ob::test {
namespace {

using algorithms::ExchangeModel;
using algorithms::LinkClock;

// A model with 100 bytes per second, blocks of 100 bytes, and half a second for each message.
ExchangeModel slow_model(std::size_t devices) {
  ExchangeModel model;
  model.ranks.assign(devices, {1, 1, 0});
  model.to_bytes_per_s = model.from_bytes_per_s = model.link_bytes_per_s = 100;
  model.message_s = 0.5;
  model.block_bytes = 100;
  return model;
}

TEST(LinkClock, ATransferTakesItsBytesAndItsMessages) {
  LinkClock links(slow_model(1));
  EXPECT_DOUBLE_EQ(links.send(0, 250, 10), 10 + 2.5 + 3 * 0.5);
  // the other direction of the link is free
  EXPECT_DOUBLE_EQ(links.fetch(0, 100, 10), 11.5);
}

TEST(LinkClock, WhatTheClientSendsGoesOneAfterTheOther) {
  LinkClock links(slow_model(2));
  EXPECT_DOUBLE_EQ(links.send(0, 100, 0), 1.5);
  EXPECT_DOUBLE_EQ(links.send(1, 100, 0), 3.0);
}

TEST(LinkClock, BlocksAreHandedOnAsTheyArrive) {
  LinkClock links(slow_model(4));
  const LinkClock::Passing made{2, {}};
  const auto first = links.forward(0, 1, 400, made, 0);
  EXPECT_DOUBLE_EQ(first.blocks.front(), 3.5);
  EXPECT_DOUBLE_EQ(first.last(), 2 + 4 * 1.5);
  const auto second = links.forward(1, 2, 400, first, 0);
  EXPECT_DOUBLE_EQ(second.last(), first.last() + 1.5);
  const auto third = links.forward(2, 3, 400, second, 20);  // the receiver is full before t = 20
  EXPECT_DOUBLE_EQ(third.last(), 20 + 4 * 1.5);
}

TEST(LinkClock, WhatWaitsElsewhereLeavesItsLinkFree) {
  LinkClock links(slow_model(3));
  EXPECT_DOUBLE_EQ(links.fetch(0, 1000, 0), 15);   // the client is busy until t = 15
  EXPECT_DOUBLE_EQ(links.fetch(1, 100, 0), 16.5);  // this fetch waits for the client
  const LinkClock::Passing made{0, {}};
  EXPECT_DOUBLE_EQ(links.forward(1, 2, 200, made, 0).last(), 3);
}

TEST(LinkClock, ThroughTheClientEachGetsItsOwnCopy) {
  LinkClock links(slow_model(3));
  const auto here = links.up(0, 200, 0);
  EXPECT_DOUBLE_EQ(here.last(), 3);
  EXPECT_DOUBLE_EQ(links.down(1, 200, here, 0).last(), 4.5);
  EXPECT_DOUBLE_EQ(links.down(2, 200, here, 0).last(), 7.5);
}

}  // namespace
}  // namespace ob::test
