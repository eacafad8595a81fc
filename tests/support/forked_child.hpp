#pragma once
// A process beside the test.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace ob::test {

/// Runs a function in a forked process until it returns, or this object is destroyed.
class ForkedChild {
 public:
  template <class Body>
  explicit ForkedChild(const Body& body) : pid_(fork()) {
    if (pid_ < 0) std::abort();
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    _exit(0);
  }
  ~ForkedChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  pid_t pid() const noexcept { return pid_; }

 private:
  const pid_t pid_;
};

/// Uses all of a processor, and never returns.
[[noreturn]] inline void compute_for_ever() {
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

}  // namespace ob::test
