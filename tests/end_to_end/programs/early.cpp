// A program with a library that computes before and after main().

#include <cstdio>

#include "workload.hpp"

extern "C" void early_register();

int main() {
  early_register();
  workload::Rng rng(workload::seed());
  const std::string problem = workload::run("dgemm", 40, rng);
  std::printf("main: %s\n", problem.empty() ? "right" : problem.c_str());
  std::fflush(stdout);
  return problem.empty() ? 0 : 1;
}
