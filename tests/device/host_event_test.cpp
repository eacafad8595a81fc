#include "device/host_event.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace ob {
namespace {

TEST(HostEventTest, HasNoMarkBeforeItsFirstRecord) { EXPECT_EQ(HostEvent().last(), nullptr); }

TEST(HostEventTest, ALaterRecordDoesNotTouchAnEarlierMark) {
  HostEvent event;
  const auto first = std::make_shared<EventMark>();
  const auto second = std::make_shared<EventMark>();
  event.record(first);
  event.record(second);
  EXPECT_EQ(event.last(), second);
  second->set();
  EXPECT_FALSE(first->done());
  first->set();
  EXPECT_TRUE(first->done());
}

TEST(HostEventTest, WaitReturnsOnceSet) {
  for (int round = 0; round < 100; ++round) {
    const auto mark = std::make_shared<EventMark>();
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
