// Calls one routine again and again and checks every result, while somebody ends the server it may
// be using. Arguments: routine, dimension, calls. Writes a line to stdout before the first call
// ("ready") and at the end.

#include <cstdio>
#include <cstdlib>

#include "workload.hpp"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int size = std::atoi(argv[2]), calls = std::atoi(argv[3]);
  const auto seed = workload::seed();
  workload::Rng rng(seed);
  std::printf("seed %llu\nready\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    const std::string problem = workload::run(argv[1], size, rng);
    if (!problem.empty()) std::printf("call %d: %s\n", call, problem.c_str());
    wrong += problem.empty() ? 0 : 1;
  }
  std::printf("%d calls of %s, %d wrong\n", calls, argv[1], wrong);
  return wrong == 0 ? 0 : 1;
}
