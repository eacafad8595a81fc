/* A program that does not use Outboard: it checks one dgemm and prints who ran it. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

extern int local_calls;
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);

enum { kOrder = 70, kLd = kOrder + 3 };
static double a[kLd * kOrder], b[kLd * kOrder], c[kLd * kOrder], before[kLd * kOrder];

int main(int argc, char** argv) {
  const int n = kOrder, ld = kLd;
  const double alpha = 1.25, beta = -0.5;
  srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
  for (int i = 0; i < kLd * kOrder; ++i) {
    a[i] = rand() / (double)RAND_MAX - 0.5;
    b[i] = rand() / (double)RAND_MAX - 0.5;
    before[i] = c[i] = rand() / (double)RAND_MAX - 0.5;
  }
  dgemm_("N", "N", &n, &n, &n, &alpha, a, &ld, b, &ld, &beta, c, &ld);
  double error = 0;
  for (int j = 0; j < kOrder; ++j) {
    for (int i = 0; i < kLd; ++i) {
      double expected = before[i + j * kLd];
      if (i < kOrder) {
        double sum = 0;
        for (int l = 0; l < kOrder; ++l) sum += a[i + l * kLd] * b[l + j * kLd];
        expected = alpha * sum + beta * expected;
      }
      error = fmax(error, fabs(c[i + j * kLd] - expected));
    }
  }
  printf("error %.2g, %d local calls\n", error, local_calls);
  return error < 1e-12 ? 0 : 1;
}
