// Calls routines, forks, and calls again in parent and child at the same time; the child forks once
// more. With a second argument "busy", a last child is forked while another thread is inside a
// call. BLAS libraries with threads of their own do not survive this, so "busy" is for remote
// calls. Arguments: largest dimension, then "busy".

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "workload.hpp"

namespace {

const char* const kRoutines[] = {"dgemm", "zgemm", "dsyrk", "dgesv", "dpotrf", "fftw"};

/// Returns the number of wrong results of one call each.
int calls(const char* who, int size, std::uint64_t seed) {
  workload::Rng rng(seed);
  int wrong = 0;
  for (const char* name : kRoutines) {
    const std::string problem = workload::run(name, size, rng);
    if (problem.empty()) continue;
    std::printf("%s: %s\n", who, problem.c_str());
    std::fflush(stdout);
    ++wrong;
  }
  return wrong;
}

int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("a child ended by signal %d\n", WTERMSIG(status));
  return 1;
}

/// The work of a child. It ends with _exit, like the children of multiprocessing.
[[noreturn]] void child(int depth, int size, std::uint64_t seed) {
  int wrong = calls(depth == 1 ? "child" : "grandchild", size, seed);
  if (depth < 2) {
    const pid_t next = fork();
    if (next == 0) child(depth + 1, size, seed + 1);
    wrong += calls("child beside grandchild", size, seed + 2);
    wrong += wait_for(next);
  }
  _exit(wrong == 0 ? 0 : 1);
}

int fork_beside_busy_thread(int size, std::uint64_t seed) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, rounds = 0;
  std::jthread busy([&] {
    for (std::uint64_t i = 0; !stop; ++i, ++rounds) {
      workload::Rng rng(seed + i);
      wrong += workload::run("sgemm", size, rng).empty() ? 0 : 1;
    }
  });
  while (rounds == 0) std::this_thread::yield();
  const pid_t pid = fork();
  if (pid == 0) child(2, size, seed + 77);
  const int failed = wait_for(pid);
  stop = true;
  busy.join();
  if (wrong != 0) std::printf("%d wrong results in the busy thread\n", wrong.load());
  return failed + wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 80;
  const auto seed = workload::seed();
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  int wrong = calls("before fork", size, seed);
  const pid_t pid = fork();
  if (pid == 0) child(1, size, seed + 10);
  wrong += calls("parent beside child", size, seed + 20);
  wrong += wait_for(pid);
  wrong += calls("parent after child", size, seed + 30);
  if (argc > 2 && std::strcmp(argv[2], "busy") == 0)
    wrong += fork_beside_busy_thread(size, seed + 40);
  std::printf("parent, children and grandchild: %d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
