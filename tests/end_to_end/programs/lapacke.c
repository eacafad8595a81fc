/* LAPACKE in both layouts: the solution of a system must not depend on how its matrix is stored. */

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 40, LD = 43, NRHS = 3, LDB_ROW = 5 };
static double full[N][N], rhs[N][NRHS];

static double* place(int layout, double* m, int ld, int i, int j) {
  return layout == LAPACK_ROW_MAJOR ? m + i * ld + j : m + j * ld + i;
}

/* Fills a and b in the layout; gaps are NaN. */
static void store(int layout, double* a, double* b, int ldb) {
  for (int i = 0; i < LD * LD; ++i) a[i] = b[i] = NAN;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) *place(layout, a, LD, i, j) = full[i][j];
    for (int j = 0; j < NRHS; ++j) *place(layout, b, ldb, i, j) = rhs[i][j];
  }
}

static int check(const char* what, int layout, double* x, int ldb, int info) {
  if (info != 0) return printf("%s: info %d\n", what, info), 1;
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < NRHS; ++k) {
      double sum = 0;
      for (int j = 0; j < N; ++j) sum += full[i][j] * *place(layout, x, ldb, j, k);
      if (!(fabs(sum - rhs[i][k]) <= 1e-10)) return printf("%s is wrong\n", what), 1;
    }
  return 0;
}

static int both(int layout) {
  static double a[LD * LD], b[LD * LD];
  const int ldb = layout == LAPACK_ROW_MAJOR ? LDB_ROW : LD;
  lapack_int pivots[N];
  int failures = 0;
  store(layout, a, b, ldb);
  int info = LAPACKE_dgesv(layout, N, NRHS, a, LD, pivots, b, ldb);
  failures += check("LAPACKE_dgesv", layout, b, ldb, info);
  store(layout, a, b, ldb);
  info = LAPACKE_dgetrf(layout, N, N, a, LD, pivots);
  if (info == 0) info = LAPACKE_dgetrs(layout, 'N', N, NRHS, a, LD, pivots, b, ldb);
  failures += check("LAPACKE_dgetrf and dgetrs", layout, b, ldb, info);
  store(layout, a, b, ldb);
  for (int i = 0; i < N; ++i) /* the other triangle is not read */
    for (int j = 0; j < i; ++j) *place(layout, a, LD, i, j) = NAN;
  info = LAPACKE_dpotrf_work(layout, 'U', N, a, LD);
  if (info == 0) info = LAPACKE_dpotrs_work(layout, 'U', N, NRHS, a, LD, b, ldb);
  failures += check("LAPACKE_dpotrf_work and dpotrs_work", layout, b, ldb, info);
  return failures;
}

int main(void) {
  srand(13);
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j <= i; ++j)
      full[i][j] = full[j][i] = 2.0 * rand() / RAND_MAX - 1 + (i == j ? 2 * N : 0);
    for (int j = 0; j < NRHS; ++j) rhs[i][j] = 2.0 * rand() / RAND_MAX - 1;
  }
  const int failures = both(LAPACK_COL_MAJOR) + both(LAPACK_ROW_MAJOR);
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
