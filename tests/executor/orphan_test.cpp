// An executor whose daemon was killed before its first request.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "executor/mailbox.hpp"
#include "executor/service.hpp"

namespace ob::executor {
namespace {

TEST(Orphan, AnExecutorEndsWhoseDaemonEndedBeforeTheFirstRequest) {
  const int memory = ::memfd_create("mailbox", 0);
  ASSERT_GE(memory, 0);
  ASSERT_EQ(::ftruncate(memory, sizeof(Mailbox)), 0);
  // This program is the parent of the executor, and not the daemon of that number.
  const std::string daemon = std::to_string(::getppid());
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::dup2(memory, kMailboxFd);
    ::execl(OB_EXECUTOR, OB_EXECUTOR, daemon.c_str(), "1", "1000000", nullptr);
    ::_exit(2);
  }
  ::close(memory);
  int status = 0;
  for (int i = 0; i < 2000 && ::waitpid(child, &status, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // 20 s: only a hang needs them
  }
  const bool waits = ::kill(child, 0) == 0;
  if (waits) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  EXPECT_FALSE(waits) << "it waits for a request";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

}  // namespace
}  // namespace ob::executor
