#include "executor/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ob::executor {
namespace {

std::vector<std::byte> bytes(const std::string& text) {
  std::vector<std::byte> all(text.size());
  std::memcpy(all.data(), text.data(), text.size());
  return all;
}

TEST(MailboxTest, CarriesRequestsAndAnswers) {
  const auto mailbox = std::make_unique<Mailbox>();
  Lane& lane = mailbox->lanes[0];
  std::atomic<bool> failed{false};
  std::thread executor([&] {
    for (std::uint32_t seen = 0; seen < 100;) {
      const Arrival arrival = await_work(lane, seen);
      failed = !arrival.request.has_value();
      ASSERT_FALSE(failed) << "it woke without a request";
      seen = arrival.request->number;
      const bool even = arrival.request->kind % 2 == 0;
      const bool whole = arrival.request->body == bytes("body " + std::to_string(seen));
      answer(lane, seen, even && whole ? Status() : Status(Code::unsupported, "odd or torn"));
    }
  });
  for (std::uint32_t i = 1; i <= 100 && !failed; ++i) {
    const std::uint32_t number = post(lane, i, bytes("body " + std::to_string(i)));
    EXPECT_EQ(number, i);
    while (lane.answer.load() != number && !failed) {
      sleep_until_answer(lane, number - 1, std::chrono::milliseconds(10000));
    }
    const Status status = answer_of(lane);
    EXPECT_EQ(status.ok(), i % 2 == 0);
    EXPECT_EQ(status.message(), status.ok() ? "" : "odd or torn");
  }
  executor.join();
}

TEST(MailboxTest, NoticesArriveInOrderBeforeALaterRequest) {
  const auto mailbox = std::make_unique<Mailbox>();
  Lane& lane = mailbox->lanes[0];
  for (std::uint64_t i = 0; i < Lane::kNotices; ++i) EXPECT_TRUE(notify(lane, i));
  EXPECT_FALSE(notify(lane, 999)) << "the ring is full";
  post(lane, 7, {}, 3);
  const Arrival arrival = await_work(lane, 0);
  ASSERT_EQ(arrival.notices.size(), Lane::kNotices);
  for (std::uint64_t i = 0; i < Lane::kNotices; ++i) EXPECT_EQ(arrival.notices[i], i);
  ASSERT_TRUE(arrival.request.has_value());
  EXPECT_EQ(arrival.request->kind, 7u);
  EXPECT_EQ(arrival.request->core, 3);
  EXPECT_TRUE(notify(lane, 1000)) << "the ring has room again";
}

// The other side may write anything.
TEST(MailboxTest, LengthsBeyondTheLimitsAreCut) {
  const auto mailbox = std::make_unique<Mailbox>();
  Lane& lane = mailbox->lanes[0];
  post(lane, 1, {});
  lane.body_bytes = UINT32_MAX;
  EXPECT_EQ(await_work(lane, 0).request->body.size(), Lane::kBodyBytes);
  answer(lane, 1, Status(Code::busy, std::string(5000, 'x')));
  EXPECT_EQ(answer_of(lane).message().size(), Lane::kTextBytes);
  lane.text_bytes = UINT32_MAX;
  EXPECT_EQ(answer_of(lane).message().size(), Lane::kTextBytes);
  lane.code = 200;
  EXPECT_EQ(answer_of(lane).code(), Code::device_error);
}

}  // namespace
}  // namespace ob::executor
