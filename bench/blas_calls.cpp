// Calls one BLAS or LAPACK routine on random operands as often as its standard input asks. The
// program does not use Outboard. `outboard bench blas` and `decide` time it with and without the
// drop-in library.
//
// usage: blas_calls ROUTINE N THREADS SEED      (routines: routine_call.hpp)
//
//   run K          calls K times and prints the time of each [ns]
//   fresh on       from now on each call finds new contents in its operands
//   fresh off      from now on each call finds the first contents
//   save FILE      writes the results of the last call
//   compare FILE   prints the relative distance to the results in FILE, in the 2-norm

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "bench/routine_call.hpp"

// Only OpenBLAS has this function. Another library keeps its own number of threads.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace {

using ob::bench::RoutineCall;

bool run(RoutineCall& call, int times) {
  for (int i = times; i > 0; --i) {
    const auto took = call.run();
    if (took < 0) return false;
    std::cout << took << (i > 1 ? " " : "");
  }
  return true;
}

bool obey(RoutineCall& call, const std::string& word, const std::string& value) {
  if (word == "run") {
    if (!run(call, std::atoi(value.c_str()))) return false;
  } else if (word == "fresh" && (value == "on" || value == "off")) {
    call.fresh(value == "on");
    std::cout << "fresh " << value;
  } else if (word == "save") {
    if (!call.save(value)) return false;
    std::cout << "saved";
  } else if (word == "compare") {
    std::cout << call.distance(value);
  } else {
    return false;
  }
  std::cout << std::endl;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc == 5 ? std::atoi(argv[2]) : 0;
  const auto seed = argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 0;
  const auto call = n > 0 ? RoutineCall::create(argv[1], n, seed) : nullptr;
  if (call == nullptr) {
    std::fprintf(stderr,
                 "usage: blas_calls ROUTINE N THREADS SEED (dgemm, dgetrf, ...; the library that "
                 "this program is linked with must have it)\n");
    return 2;
  }
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(std::atoi(argv[3]));
  std::cout << "planned 0" << std::endl;  // there is nothing to plan
  std::string word;
  std::string value;
  while (std::cin >> word >> value) {
    if (obey(*call, word, value)) continue;
    std::fprintf(stderr, "blas_calls: cannot do \"%s %s\"\n", word.c_str(), value.c_str());
    return 1;
  }
  return 0;
}
