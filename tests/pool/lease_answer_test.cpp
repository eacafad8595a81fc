// The answer of a manager, from `outboard run` to its command: a lease, none, late, old or damaged.

#include "pool/lease_answer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "support/temporary_folder.hpp"

namespace ob::pool {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

transport::Deadline soon() { return Clock::now() + seconds(20); }

LeaseState lease() {
  LeaseState held{"held", 1'000'000, 1'120'000, {}};
  held.handles.push_back(
      {"n1/0", "n1", {"unix:/run/\"n1\"", "node1:7770"}, "m1", 1ULL << 62, "a.b.c"});
  held.handles.push_back({"n2/3", "n2", {}, "", 0, ""});
  return held;
}

class LeaseAnswer : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string file_ = folder_.file("lease");
};

TEST_F(LeaseAnswer, ArrivesAsItWas) {
  ASSERT_TRUE(hand_over(file_, lease(), Clock::now()).ok());
  const auto taken = take_over(file_, soon());
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  ASSERT_EQ(taken->handles.size(), 2U);
  const LeaseHandle& first = taken->handles.front();
  EXPECT_EQ(first.device, "n1/0");
  EXPECT_EQ(first.daemon, "n1");
  EXPECT_EQ(first.addresses, lease().handles.front().addresses);
  EXPECT_EQ(first.machine, "m1");
  EXPECT_EQ(first.epoch, 1ULL << 62);
  EXPECT_EQ(first.token, "a.b.c");
  EXPECT_TRUE(taken->handles.back().addresses.empty());
  EXPECT_LE(taken->left(), lease().left());
  EXPECT_FALSE(std::filesystem::exists(file_ + ".part"));
}

TEST_F(LeaseAnswer, HasTheTimeThatIsLeft) {
  ASSERT_TRUE(hand_over(file_, lease(), Clock::now() - seconds(30)).ok());
  const auto taken = take_over(file_, soon());
  ASSERT_TRUE(taken.ok());
  EXPECT_LE(taken->left(), seconds(90));
}

TEST_F(LeaseAnswer, IsNotTakenWhenItIsOld) {
  ASSERT_TRUE(hand_over(file_, lease(), Clock::now() - seconds(41)).ok());
  EXPECT_EQ(take_over(file_, soon()).status().code(), Code::unavailable);
}

TEST_F(LeaseAnswer, OfTheFutureIsNotTaken) {
  ASSERT_TRUE(hand_over(file_, lease(), Clock::now() + seconds(3600)).ok());
  EXPECT_EQ(take_over(file_, soon()).status().code(), Code::unavailable);
}

TEST_F(LeaseAnswer, MayBeThatThereIsNone) {
  ASSERT_TRUE(hand_over(file_, {}, Clock::now()).ok());
  EXPECT_EQ(take_over(file_, soon()).status().code(), Code::fenced);
}

TEST_F(LeaseAnswer, IsWaitedFor) {
  EXPECT_EQ(take_over(file_, Clock::now() + milliseconds(20)).status().code(),
            Code::deadline_exceeded);
  std::thread writer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_TRUE(hand_over(file_, lease(), Clock::now()).ok());
  });
  EXPECT_TRUE(take_over(file_, soon()).ok());
  writer.join();
}

TEST_F(LeaseAnswer, NeverComesWithoutItsFolder) {
  EXPECT_EQ(take_over(folder_.file("gone/lease"), soon()).status().code(), Code::unavailable);
  EXPECT_FALSE(hand_over(folder_.file("gone/lease"), lease(), Clock::now()).ok());
}

TEST_F(LeaseAnswer, IsNotWaitedForByAnotherUser) {
  if (::geteuid() == 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_other = ::setresuid(65534, 65534, 65534) == 0;
      const bool asks = take_over(file_, soon()).status().code() == Code::unavailable;
      ::_exit(is_other && asks ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return;
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_read);
  EXPECT_EQ(take_over(file_, soon()).status().code(), Code::unavailable);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
}

TEST_F(LeaseAnswer, MayBeDamaged) {
  ASSERT_TRUE(hand_over(file_, lease(), Clock::now()).ok());
  std::ifstream from(file_);
  const std::string text(std::istreambuf_iterator<char>(from), {});
  for (std::size_t size = 0; size < text.size(); ++size) {
    std::ofstream(file_, std::ios::trunc) << text.substr(0, size);
    EXPECT_EQ(take_over(file_, soon()).status().code(), Code::unavailable) << size;
  }
}

}  // namespace
}  // namespace ob::pool
