// Calls routines repeatedly and checks every result, while somebody ends the servers that it may
// use. Arguments: routine, or several with commas between, of which each call takes a random one;
// dimension (several routines: the largest); number of calls or, with an s behind it, of seconds.
// Prints a line before the first call ("ready") and one at the end.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "workload.hpp"

using Clock = std::chrono::steady_clock;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<std::string> routines;
  std::istringstream list(argv[1]);
  for (std::string name; std::getline(list, name, ',');) routines.push_back(name);
  const int largest = std::atoi(argv[2]), most = std::atoi(argv[3]);
  const bool timed = std::strchr(argv[3], 's') != nullptr;
  const auto seed = workload::seed();
  workload::Rng rng(seed);
  std::printf("seed: OUTBOARD_TEST_SEED=%llu\nready\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  int wrong = 0;
  int call = 0;
  const auto end = Clock::now() + std::chrono::seconds(most);
  for (; timed ? Clock::now() < end : call < most; ++call) {
    const bool mixed = routines.size() > 1;
    const std::string& routine = routines[mixed ? rng() % routines.size() : 0];
    const int size = mixed ? 1 + static_cast<int>(rng() % static_cast<unsigned>(largest)) : largest;
    const std::string problem = workload::run(routine, size, rng);
    if (!problem.empty()) std::printf("call %d: %s\n", call, problem.c_str());
    wrong += problem.empty() ? 0 : 1;
  }
  std::printf("%d calls of %s, %d wrong\n", call, argv[1], wrong);
  return wrong == 0 ? 0 : 1;
}
