#include "device/host_event.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace ob {
namespace {

TEST(HostEventTest, HasNoMarkBeforeItsFirstRecord) { EXPECT_EQ(HostEvent().last(), nullptr); }

TEST(HostEventTest, ALaterRecordDoesNotTouchAnEarlierMark) {
  HostEvent event;
  const auto first = event.record();
  const auto second = event.record();
  EXPECT_EQ(event.last(), second);
  second->set();
  EXPECT_FALSE(first->done());
  first->set();
  EXPECT_TRUE(first->done());
}

TEST(HostEventTest, WaitReturnsOnceSet) {
  for (int round = 0; round < 100; ++round) {
    HostEvent event;
    const auto mark = event.record();
    int written = 0;
    std::thread setter([&] {
      written = 1;
      mark->set();
    });
    mark->wait();
    EXPECT_EQ(written, 1);
    setter.join();
  }
}

}  // namespace
}  // namespace ob
