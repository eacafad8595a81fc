#include "policy/model.hpp"

#include <gtest/gtest.h>

namespace ob::policy {
namespace {

const Link kLink{
    .round_trip_s = 1e-4, .to_bytes_per_s = 1e9, .from_bytes_per_s = 1e9, .to = {}, .from = {}};

Work work_of(double flop, double bytes_to, double bytes_from) {
  Work work;
  work.flop = flop;
  work.bytes_to = bytes_to;
  work.bytes_from = bytes_from;
  return work;
}

TEST(Predict, GuessesNothing) {
  const Link unknown;
  EXPECT_EQ(predict(work_of(1e15, 1, 1), {.link = unknown, .flop_per_s = 1e12}).whole_s, 0);
  EXPECT_EQ(predict(work_of(1e15, 1, 1), {.link = kLink}).whole_s, 0);
}

TEST(Predict, AddsUpTheModel) {
  const PredictedTime found = predict(work_of(2e12, 3e9, 1e9), {.link = kLink, .flop_per_s = 1e12});
  EXPECT_NEAR(found.whole_s, 2e-4 + 3 + 1 + 2, 1e-9);
}

TEST(Predict, WhatOverlapsIsHiddenButForAPanel) {
  Work work = work_of(2e12, 3e9, 1e9);
  work.overlaps = true;
  // timings of 3, 2 and 1 s: the longest one, and a quarter of the others
  EXPECT_NEAR(predict(work, {.link = kLink, .flop_per_s = 1e12}).whole_s, 2e-4 + 3 + 3.0 / 4, 1e-9);
}

TEST(Predict, WhatIsThereIsLookedAtInstead) {
  const Work work = work_of(1e9, 3e9, 1e6);
  const Remote cold{.link = kLink, .flop_per_s = 1e12};
  Remote warm = cold;
  warm.bytes_on_device = 3e9;
  const double saved = predict(work, cold).whole_s - predict(work, warm).whole_s;
  EXPECT_NEAR(saved, 3 - 3e9 / kLookBytesPerS, 1e-9);
  warm.bytes_on_device = 1e12;  // more than the call needs does not count
  EXPECT_NEAR(predict(work, cold).whole_s - predict(work, warm).whole_s, saved, 1e-9);
}

TEST(Predict, WaitingIsNotCorrected) {
  const Work work = work_of(1e12, 0, 0);
  const Remote remote{.link = kLink, .flop_per_s = 1e12, .correction = 2, .waiting_s = 5};
  EXPECT_NEAR(predict(work, remote).whole_s, 2 * (2e-4 + 1) + 5, 1e-9);
}

TEST(Predict, MoreBytesNeverMakeItFaster) {
  double before = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 10) {
    const Remote remote{.link = kLink, .flop_per_s = 1e12};
    const double seconds = predict(work_of(1e12, bytes, bytes), remote).whole_s;
    EXPECT_GT(seconds, before);
    before = seconds;
  }
}

TEST(Model, NewMemoryTakesTime) {
  Link link = kLink;
  link.fresh_s_per_byte = 1e-9;
  const Work work{.flop = 1e9, .bytes_to = 6e6, .bytes_from = 2e6, .memory_bytes = 8e6};
  const double used_s = predict(work, {.link = link, .flop_per_s = 1e11}).whole_s;
  const PredictedTime fresh =
      predict(work, {.link = link, .flop_per_s = 1e11, .fresh_bytes = work.memory_bytes});
  EXPECT_NEAR(fresh.whole_s - used_s, 8e-3, 1e-9);
}

// 1 us and 1 GB/s up to 1 MB, 10 GB/s beyond.
TEST(TransferTimes, LieOnALineBetweenSizes) {
  TransferTimes times;
  EXPECT_FALSE(times.known());
  times.add(1e3, 2e-6);
  times.add(1e6, 1.001e-3);
  times.add(1e7, 1.901e-3);
  times.add(1e7, 1);   // takes less time: ignored
  times.add(-1, 1e9);  // not valid
  ASSERT_EQ(times.samples().size(), 3U);
  EXPECT_NEAR(times.seconds(5e5), 5.01e-4, 1e-9);
  EXPECT_NEAR(times.seconds(5.5e6), 1.451e-3, 1e-9);
  EXPECT_NEAR(times.seconds(1e9), 1.901e-3 + 9.9e8 / 1e10, 1e-9);
  EXPECT_NEAR(times.seconds(500), 1e-6, 1e-12);
}

// 1 GB/s, but one of two samples took much too long.
TEST(TransferTimes, DisturbedSamplesAreNotExtrapolated) {
  TransferTimes low;
  low.add(1e5, 8e-3);
  low.add(1e6, 1e-3);
  EXPECT_GE(low.seconds(1e9), 0.5) << "transfers are not free";
  TransferTimes high;
  high.add(9e5, 0.9e-3);
  high.add(1e6, 3e-3);
  EXPECT_LE(high.seconds(1e9), 6.0) << "the slope between both is 48 s/GB";
}

}  // namespace
}  // namespace ob::policy
