/* A program for a BLAS and LAPACK with 64-bit integers under the plain names (libopenblas64, MKL
 * ILP64). Reading its arguments as 32-bit integers gives almost the same values, but wrong results
 * and damaged memory. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int64_t Int;

void dgemm_(const char*, const char*, const Int*, const Int*, const Int*, const double*,
            const double*, const Int*, const double*, const Int*, const double*, double*,
            const Int*);
void dgesv_(const Int*, const Int*, double*, const Int*, Int*, double*, const Int*, Int*);
void dpotrf_(const char*, const Int*, double*, const Int*, Int*);

enum { N = 48 };
static double a[N * N], b[N * N], c[N * N], lu[N * N], x[N];

static int product(void) {
  const Int n = N;
  const double one = 1, zero = 0;
  for (int i = 0; i < N * N; ++i) c[i] = NAN;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) {
      double sum = 0;
      for (int l = 0; l < N; ++l) sum += a[l * N + i] * b[j * N + l];
      if (!(fabs(sum - c[j * N + i]) <= 1e-11)) return printf("dgemm is wrong\n"), 1;
    }
  return 0;
}

static int solve(void) {
  const Int n = N, one = 1;
  Int pivots[N + 1], info = 0x5A5A5A5A5A5A5A5A; /* both halves must be written */
  for (int i = 0; i <= N; ++i) pivots[i] = 0x5A5A5A5A5A5A5A5A;
  for (int i = 0; i < N * N; ++i) lu[i] = a[i];
  for (int i = 0; i < N; ++i) x[i] = b[i];
  dgesv_(&n, &one, lu, &n, pivots, x, &n, &info);
  if (info != 0) return printf("dgesv: info %lld\n", (long long)info), 1;
  for (int i = 0; i < N; ++i)
    if (pivots[i] < i + 1 || pivots[i] > N)
      return printf("dgesv: pivot %lld\n", (long long)pivots[i]), 1;
  if (pivots[N] != 0x5A5A5A5A5A5A5A5A) return printf("dgesv: wrote past the pivots\n"), 1;
  for (int i = 0; i < N; ++i) {
    double sum = 0;
    for (int j = 0; j < N; ++j) sum += a[j * N + i] * x[j];
    if (!(fabs(sum - b[i]) <= 1e-10)) return printf("dgesv is wrong by %g\n", fabs(sum - b[i])), 1;
  }
  return 0;
}

static int not_definite(void) {
  const Int n = 3;
  double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1};
  Int info = 0x5A5A5A5A5A5A5A5A;
  dpotrf_("U", &n, m, &n, &info);
  return info == 3 ? 0 : (printf("dpotrf: info %lld, expected 3\n", (long long)info), 1);
}

int main(void) {
  srand(11);
  for (int i = 0; i < N * N; ++i) {
    a[i] = 2.0 * rand() / RAND_MAX - 1 + (i % (N + 1) == 1 ? N : 0); /* needs pivoting */
    b[i] = 2.0 * rand() / RAND_MAX - 1;
  }
  const int failures = product() + solve() + not_definite() + product();
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
