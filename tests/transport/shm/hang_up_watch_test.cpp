#include "transport/shm/hang_up_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <future>

namespace ob::transport::shm {
namespace {

// Far longer than an event takes; only a hang reaches it.
constexpr std::chrono::seconds kHang{60};

struct Ends {
  Ends() {
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    near = Fd(fds[0]);
    far = Fd(fds[1]);
  }
  Fd near;
  Fd far;
};

struct HangUps : ::testing::Test {
  std::shared_ptr<HangUpWatch> watch = HangUpWatch::create();
  Ends ends;

  /// Waits until the end of another socket has been told.
  void catch_up() {
    Ends other;
    std::promise<void> told;
    const auto number = watch->add(other.near.get(), [&] { told.set_value(); });
    ASSERT_NE(number, 0u);
    other.far.reset();
    EXPECT_EQ(told.get_future().wait_for(kHang), std::future_status::ready);
    watch->remove(other.near.get(), number);
  }
};

TEST_F(HangUps, TheEndOfASocketIsToldOnce) {
  std::atomic<int> told{0};
  const auto number = watch->add(ends.near.get(), [&] { ++told; });
  ASSERT_NE(number, 0u);
  (void)!::write(ends.far.get(), "x", 1);  // bytes are no end
  catch_up();
  EXPECT_EQ(told, 0);
  ends.far.reset();
  for (int i = 0; i < 3; ++i) catch_up();
  EXPECT_EQ(told, 1);
  watch->remove(ends.near.get(), number);
}

TEST_F(HangUps, AnEndFromBeforeIsTold) {
  ends.far.reset();
  std::promise<void> told;
  const auto number = watch->add(ends.near.get(), [&] { told.set_value(); });
  EXPECT_EQ(told.get_future().wait_for(kHang), std::future_status::ready);
  watch->remove(ends.near.get(), number);
}

TEST_F(HangUps, ARemovedSocketIsNotTold) {
  std::atomic<int> told{0};
  const auto number = watch->add(ends.near.get(), [&] { ++told; });
  watch->remove(ends.near.get(), number);
  ends.far.reset();
  catch_up();
  EXPECT_EQ(told, 0);
}

TEST_F(HangUps, OnlySocketsCanBeWatched) {
  EXPECT_EQ(watch->add(-1, [] {}), 0u);
}

TEST_F(HangUps, AForkedChildLeavesTheWatchOfItsParent) {
  const pid_t child = ::fork();
  if (child == 0) {
    watch.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  catch_up();
}

}  // namespace
}  // namespace ob::transport::shm
