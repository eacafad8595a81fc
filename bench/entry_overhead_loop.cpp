// The measured loop. It is in a module of its own, so that the program can load it and its BLAS in
// either scope.

#include <chrono>

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
                       const double*, const int*, const double*, const int*, const double*, double*,
                       const int*, std::size_t, std::size_t);

/// The time of one 1 x 1 dgemm, the best of `rounds` rounds of `calls` calls.   Units: ns
extern "C" [[gnu::visibility("default")]] double time_dgemm(int rounds, int calls) {
  const int one = 1;
  const double alpha = 1;
  const double beta = 0;
  const double a = 2;
  const double b = 3;
  double c = 0;
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
      dgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one, 1, 1);
    }
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - start;
    best = passed.count() / calls < best ? passed.count() / calls : best;
  }
  return c == 6 ? best : -1;
}
