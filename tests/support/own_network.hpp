#pragma once
// A network of this process alone, whose only interface can go down: the machine of a peer that
// dies.

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>

#include "base/fd.hpp"

namespace ob::test {

/// Results of run_in_own_network(), besides those of its work.
inline constexpr int kNoNetwork = 77;
inline constexpr int kUnexpected = 78;

/// Takes the loopback interface up or down; false if this is not permitted.
inline bool set_loopback(bool up) {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) return false;
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  return ::ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

/// Runs the work in a forked child with a network namespace of its own. Returns its result, which
/// is 0 to 76 or kNoNetwork; kUnexpected if expectations failed and the work did not notice; -1 if
/// the child crashed.
inline int run_in_own_network(const std::function<int()>& work) {
  std::fflush(nullptr);  // the child must not print this again
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool alone = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!alone || !set_loopback(true)) ::_exit(kNoNetwork);
    const int result = work();
    std::fflush(nullptr);
    const bool unnoticed = result == 0 || result == kNoNetwork;
    ::_exit(unnoticed && testing::Test::HasFailure() ? kUnexpected : result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ob::test
