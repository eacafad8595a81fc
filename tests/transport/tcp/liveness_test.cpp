// A peer whose machine falls silent, and a peer that is only busy. The silent machine is a network
// namespace whose interface goes down.

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

bool set_loopback(bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  bool done = ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  done = done && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return done;
}

constexpr int kCannot = 77;

/// Runs `work` in a forked child with a network namespace of its own.
template <class Work>
int in_own_network(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool alone = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    ::_exit(alone && set_loopback(true) ? work() : kCannot);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Liveness, AnUnreachablePeerIsNoticedByASender) {
  const int outcome = in_own_network([] {
    Link link(Kind::tcp);
    if (!set_loopback(false)) return kCannot;
    if (!send_all(*link.client, bytes_of("anybody there?")).ok()) return 2;
    return link.client->wait(true, false, test_deadline()).code() == Code::connection_lost ? 0 : 1;
  });
  if (outcome == kCannot) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

TEST(Liveness, AnUnreachablePeerIsNoticedOnAnIdleConnection) {
  const int outcome = in_own_network([] {
    Link link(Kind::tcp);
    if (!set_loopback(false)) return kCannot;
    std::byte byte{};
    return receive_all(*link.client, {&byte, 1}).code() == Code::connection_lost ? 0 : 1;
  });
  if (outcome == kCannot) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

TEST(Liveness, APeerThatIsTooBusyToReceiveIsNotGivenUp) {
  Link link(Kind::tcp);
  const std::vector<std::byte> text(1 << 20, std::byte{5});
  std::size_t sent = 0;
  Status status;
  const Deadline busy_until =
      Clock::now() + std::chrono::seconds(9);  // much longer than the limit for a silent peer
  while (status.ok()) {
    auto accepted = try_send(*link.client, text);
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    sent += *accepted;
    if (*accepted == 0) status = link.client->wait(false, true, busy_until);
  }
  EXPECT_EQ(status.code(), Code::deadline_exceeded) << status.message();
  std::vector<std::byte> received(sent);
  EXPECT_TRUE(receive_all(*link.server, received).ok());
  EXPECT_TRUE(talks(*link.client, *link.server));
}

}  // namespace
}  // namespace ob::transport::test
