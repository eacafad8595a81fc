#include "device/small_buffers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

constexpr std::uint64_t kPage = SmallBuffers::kPageBytes;
constexpr Account kOne{UserId{7}, SessionId{1}};
constexpr Account kOther{UserId{7}, SessionId{2}};

class SmallBuffersTest : public testing::Test {
 protected:
  HostBuffer make(std::uint64_t size_bytes, const Account& owner = kOne) {
    auto made = small_.make(owner, size_bytes);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }
  bool holds_only(const HostBuffer& buffer, std::byte value) {
    return std::all_of(buffer.data(), buffer.data() + buffer.size_bytes(),
                       [&](std::byte b) { return b == value; });
  }
  std::uint64_t resident_bytes(const HostSegment& segment) {
    struct stat facts {};
    EXPECT_EQ(fstat(segment.fd(), &facts), 0);
    return static_cast<std::uint64_t>(facts.st_blocks) * 512;
  }

  std::shared_ptr<SegmentBudget> budget_ = std::make_shared<SegmentBudget>(1000);
  SmallBuffers small_{budget_};
};

TEST_F(SmallBuffersTest, ManyShareFewSegments) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(make(8));
  EXPECT_EQ(budget_->held(), 40u);  // 64 places in the first one, 256 in others
  for (const HostBuffer& buffer : all) small_.give_back(buffer);
  all.clear();
  EXPECT_LE(budget_->held(), 1u);  // the spare one
}

TEST_F(SmallBuffersTest, BuffersAreAlignedZeroAndApart) {
  auto random = test::fresh_random();
  std::vector<HostBuffer> all;
  for (int i = 0; i < 1500; ++i) {
    all.push_back(make(random() % (4 * kPage), i % 2 == 0 ? kOne : kOther));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().data()) % 64, 0u);
    EXPECT_TRUE(holds_only(all.back(), std::byte{0}));
    std::memset(all.back().data(), i % 251 + 1, all.back().size_bytes());
  }
  for (int i = 0; i < 1500; ++i) {
    EXPECT_TRUE(holds_only(all[i], static_cast<std::byte>(i % 251 + 1))) << "buffer " << i;
  }
}

TEST_F(SmallBuffersTest, TwoSessionsNeverShareASegment) {
  auto random = test::fresh_random();
  std::vector<std::pair<HostBuffer, Account>> live;
  // The pointers keep the segments alive, so that no other one gets their address.
  std::map<std::shared_ptr<HostSegment>, Account> owner_of;
  for (int i = 0; i < 5000; ++i) {
    if (!live.empty() && random() % 3 == 0) {
      std::swap(live[random() % live.size()], live.back());
      small_.give_back(live.back().first);
      live.pop_back();
      continue;
    }
    const Account owner{UserId{1 + random() % 2}, SessionId{1 + random() % 3}};
    live.emplace_back(make(random() % (2 * kPage), owner), owner);
    ASSERT_EQ(owner_of.emplace(live.back().first.segment(), owner).first->second, owner);
  }
}

TEST_F(SmallBuffersTest, AFreedPlaceIsUsedAgainAndZero) {
  const HostBuffer stays = make(8);
  const HostBuffer freed = make(3000);
  std::memset(freed.data(), 0x5a, 3000);
  small_.give_back(freed);
  const HostBuffer next = make(4000);
  EXPECT_EQ(next.data(), freed.data());
  EXPECT_TRUE(holds_only(next, std::byte{0}));
  EXPECT_EQ(next.segment(), stays.segment());
}

// The daemon may end a session while its client still copies its last results from the mapping.
TEST_F(SmallBuffersTest, AMappedPlaceKeepsItsContentsUntilItIsUsedAgain) {
  const HostBuffer result = make(2 * kPage);
  const HostBuffer other = make(2 * kPage);
  ASSERT_EQ(result.segment(), other.segment());
  ASSERT_TRUE(small_.export_segment(result));
  std::memset(result.data(), 0x5A, result.size_bytes());
  small_.give_back(result);
  EXPECT_TRUE(holds_only(result, std::byte{0x5A}));
  const HostBuffer next = make(2 * kPage);
  EXPECT_EQ(next.data(), result.data());
  EXPECT_TRUE(holds_only(next, std::byte{0}));
  std::memset(next.data(), 0x5A, next.size_bytes());
  small_.give_back(next);
  small_.give_back(other);
  EXPECT_TRUE(holds_only(next, std::byte{0x5A}));
}

TEST_F(SmallBuffersTest, MemoryOfFreedBuffersReturnsAtOnce) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(make(kPage));
    std::memset(all.back().data(), 1, kPage);
  }
  const HostSegment& segment = *all.front().segment();
  EXPECT_EQ(resident_bytes(segment), 64 * kPage);
  for (int i = 1; i < 64; ++i) small_.give_back(all[static_cast<std::size_t>(i)]);
  EXPECT_EQ(resident_bytes(segment), kPage);
  small_.give_back(all.front());
  EXPECT_EQ(resident_bytes(segment), 0u);
}

TEST_F(SmallBuffersTest, BothSidesOfABufferCanBeRead) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 257; ++i) all.push_back(make(i % 2 == 0 ? 1 : kPage));
  for (const HostBuffer& buffer : all) {
    const volatile std::byte* before = buffer.data() - HostSegment::kGuardBytes;
    const volatile std::byte* after = buffer.data() + buffer.size_bytes();
    unsigned sum = 0;
    for (std::uint64_t i = 0; i < HostSegment::kGuardBytes; ++i) {
      sum += std::to_integer<unsigned>(before[i]) + std::to_integer<unsigned>(after[i]);
    }
    EXPECT_EQ(sum, 0u);  // memory that is not mapped would raise a signal
  }
}

TEST_F(SmallBuffersTest, OneSharedSegmentOfASessionIsExported) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 300; ++i) all.push_back(make(8));  // 64 in the first segment, then 256
  const HostBuffer other = make(8, kOther);
  EXPECT_FALSE(small_.export_segment(all[299]));  // its client could fill 1 MiB
  EXPECT_TRUE(small_.export_segment(all[5]));
  EXPECT_TRUE(small_.export_segment(all[6]));
  EXPECT_FALSE(small_.export_segment(all[298]));
  EXPECT_TRUE(small_.export_segment(other));
  small_.give_back(all[299]);
  small_.give_back(all[5]);
  EXPECT_EQ(make(8).segment(), all[6].segment());  // places that can be mapped are used first
  EXPECT_EQ(make(8).segment(), all[298].segment());
}

TEST_F(SmallBuffersTest, AClientThatMapsAllItsBuffersAlwaysCan) {
  std::set<HostSegment*> segments;
  std::vector<HostBuffer> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(make(3 * kPage));
    EXPECT_TRUE(small_.export_segment(all.back())) << "buffer " << i;
    std::memset(all.back().data(), i + 1, all.back().size_bytes());
    segments.insert(all.back().segment().get());
  }
  EXPECT_EQ(segments.size(), 1u + (100 - 16));  // 16 share the first one
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(holds_only(all[i], static_cast<std::byte>(i + 1)));
  while (all.size() > 50) {  // the shared segment goes, some others stay
    small_.give_back(all.front());
    all.erase(all.begin());
  }
  for (int i = 0; i < 50; ++i) {
    all.push_back(make(3 * kPage));
    EXPECT_TRUE(small_.export_segment(all.back())) << "buffer " << i << " after the others";
  }
  for (const HostBuffer& buffer : all) small_.give_back(buffer);
  all.clear();
  EXPECT_EQ(budget_->held(), 0u);
}

TEST_F(SmallBuffersTest, AClientThatMapsOnlySomeSharesSegments) {
  std::vector<HostBuffer> all;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(make(2 * kPage));
    if (i < 32) EXPECT_TRUE(small_.export_segment(all.back()));
  }
  EXPECT_LT(budget_->held(), 100u);
}

TEST_F(SmallBuffersTest, AnExportedSegmentIsNotKept) {
  const HostBuffer buffer = make(8);
  EXPECT_TRUE(small_.export_segment(buffer));
  small_.give_back(buffer);
  EXPECT_NE(make(8).segment(), buffer.segment());
}

TEST_F(SmallBuffersTest, ThreadsMayMakeAndFreeAtOnce) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::vector<HostBuffer> live;
      const Account owner{UserId{1}, SessionId{1 + t / 2}};
      for (int i = 0; i < 2000; ++i) {
        live.push_back(make(8, owner));
        auto* const word = reinterpret_cast<std::uint64_t*>(live.back().data());
        ASSERT_EQ(*word, 0u);
        *word = t + 1;
        if (live.size() < 300) continue;
        for (const HostBuffer& buffer : live) {
          ASSERT_EQ(*reinterpret_cast<std::uint64_t*>(buffer.data()), t + 1);
          small_.give_back(buffer);
        }
        live.clear();
      }
      for (const HostBuffer& buffer : live) small_.give_back(buffer);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(budget_->held(), 1u);
}

}  // namespace
}  // namespace ob
