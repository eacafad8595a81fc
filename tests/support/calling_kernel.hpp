#pragma once
// Kernels that attack the process that runs them, also by system calls, as code that has taken its
// process over would.

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ob::test {

/// A kernel for the victim of attacks, two that attack, and one that counts launches.
inline constexpr const char* kAttackKernels = R"(
__kernel void sum(__global const double* x, __global double* y, uint n) {
  const uint i = get_global_id(0);
  if (i < n) y[i] = 3.0 * x[i] + sin(x[i]);
}
__kernel void beyond(__global int* x, ulong where) { x[where] = 1; }
__kernel void endless(__global volatile int* x) {
  while (x[0] == 0) x[1] += 1;
}
__kernel void count_up(__global int* x) { x[get_global_id(0)] += 1; }
)";

/// Makes any system call. The numbers and the result lie in the buffer, and a text behind them.
/// `tries` makes a call so often, as each of many items, and counts those that succeed.
inline constexpr const char* kCallingKernels = R"(
long system_call(long number, long a, long b, long c, long d) {
  long result;
  __asm__ volatile("movq %5, %%r10\n\tsyscall" : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d) : "rcx", "r10", "r11", "memory");
  return result;
}
__kernel void call(__global long* io) {
  long a = io[1], b = io[2], c = io[3];
  if (io[5] & 1) a = (long)(io + 8);
  if (io[5] & 2) b = (long)(io + 8);
  io[6] = system_call(io[0], a, b, c, io[4]);
}
__kernel void tries(__global long* io, int count) {
  for (int i = 0; i < count; ++i) {
    const long result = system_call(io[0], io[1], io[2], io[3], io[4]);
    if (result >= 0) atomic_inc((volatile __global int*)(io + 6));
  }
}
)";

/// Returns the processes that this one has started to run kernels, or those that such a process has
/// started.
inline std::vector<pid_t> kernel_workers(pid_t parent = getpid()) {
  std::vector<pid_t> found;
  DIR* const all = opendir("/proc");
  while (const dirent* each = readdir(all)) {
    const pid_t pid = std::atoi(each->d_name);
    if (pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find("outboard-executor") == std::string::npos ||
        line.find("kernels") == std::string::npos) {
      continue;
    }
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string facts((std::istreambuf_iterator<char>(status)), {});
    if (facts.find("\nPPid:\t" + std::to_string(parent) + "\n") != std::string::npos) {
      found.push_back(pid);
    }
  }
  closedir(all);
  return found;
}

}  // namespace ob::test
