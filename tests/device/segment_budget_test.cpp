#include "device/segment_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/descriptor_limit.hpp"

namespace ob {
namespace {

using Segments = std::vector<std::shared_ptr<HostSegment>>;

Account account(std::uint64_t user, std::uint64_t session) {
  return {UserId{user}, SessionId{session}};
}

// Creates segments until the owner has its share; returns the last answer.
Status fill(SegmentBudget& budget, const Account& owner, Segments& segments) {
  for (;;) {
    auto made = budget.create(owner, 1);
    if (!made.ok()) return made.status();
    segments.push_back(std::move(made).value());
  }
}

TEST(SegmentBudgetTest, OneSessionLeavesRoomForItsUserAndForOthers) {
  const auto budget = std::make_shared<SegmentBudget>(70);
  Segments first;
  const Status status = fill(*budget, account(1, 1), first);
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_EQ(first.size(), 30u);  // 3/7 of all
  Segments second;
  (void)fill(*budget, account(1, 2), second);
  EXPECT_GT(second.size(), 0u);
  EXPECT_LE(first.size() + second.size(), 35u);  // a user: half of all
  Segments other;
  (void)fill(*budget, account(2, 3), other);
  EXPECT_GE(other.size(), 12u);
  EXPECT_GT(budget->held(), 30u);
  for (Segments* each : {&first, &second, &other}) each->clear();
  EXPECT_EQ(budget->held(), 0u);
}

TEST(SegmentBudgetTest, ManySessionsOfAUserGetNoMoreThanHalf) {
  const auto budget = std::make_shared<SegmentBudget>(64);
  Segments all;
  for (std::uint64_t session = 1; session < 100; ++session) {
    (void)fill(*budget, account(1, session), all);
  }
  EXPECT_LE(all.size(), 32u);
  EXPECT_TRUE(budget->create(account(2, 1), 1).ok());
}

TEST(SegmentBudgetTest, ThereIsAlwaysOneLeftForTheNextUser) {
  const auto budget = std::make_shared<SegmentBudget>(64);
  Segments all;
  for (std::uint64_t user = 1; user < 6; ++user) {
    (void)fill(*budget, account(user, user), all);
    EXPECT_TRUE(budget->create(account(100 + user, 1), 1).ok()) << user << " users before";
  }
}

TEST(SegmentBudgetTest, TheProcessItselfMayHaveAll) {
  const auto budget = std::make_shared<SegmentBudget>(10);
  Segments all;
  const Status status = fill(*budget, {}, all);
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(status.code(), Code::out_of_memory);
}

TEST(SegmentBudgetTest, ARefusalSaysWhoHoldsHowMany) {
  const auto budget = std::make_shared<SegmentBudget>(70);
  Segments all;
  const Status status = fill(*budget, account(1, 1), all);
  for (const char* part : {"session", "30", "70", "ulimit -n"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST(SegmentBudgetTest, ASegmentOfThePoolCountsForItsNextOwner) {
  const auto budget = std::make_shared<SegmentBudget>(16);
  const auto segment = budget->create(account(1, 1), 1).value();
  segment->hold(nullptr);
  EXPECT_EQ(budget->held(), 0u);
  EXPECT_TRUE(budget->count(account(2, 2), *segment).ok());
  EXPECT_EQ(budget->held(), 1u);
}

TEST(SegmentBudgetTest, HalfOfTheDescriptorsStayForConnections) {
  const test::DescriptorLimit limit(512);
  ASSERT_TRUE(limit.set());
  EXPECT_EQ(SegmentBudget::share_of_process(1), 256u);
  EXPECT_EQ(SegmentBudget::share_of_process(4), 64u);
}

}  // namespace
}  // namespace ob
