/* Illegal arguments must reach the program's own xerbla_, with the routine's name and the
 * argument's position, and must not change the arrays. Legal calls before and after them must work.
 */

#include <cblas.h>
#include <stdio.h>
#include <string.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*,
            const double*, const double*, const int*, double*, const int*);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dpotrf_(const char*, const int*, double*, const int*, int*);

static char seen_name[16];
static int seen_position;
static int seen_count;

/* The program's own handler. gfortran passes the name's length last. */
__attribute__((visibility("default"))) void xerbla_(const char* name, const int* position,
                                                    size_t length) {
  if (length > 6) length = 6;
  memcpy(seen_name, name, length);
  seen_name[length] = 0;
  seen_position = *position;
  ++seen_count;
}

static int failures;

static void expect(const char* what, const char* name, int position) {
  const int right =
      seen_count == 1 && strncmp(seen_name, name, strlen(name)) == 0 && seen_position == position;
  if (!right) {
    printf("%s: xerbla called %d times, last with '%s' %d, expected '%s' %d\n", what, seen_count,
           seen_name, seen_position, name, position);
    ++failures;
  }
  seen_count = 0;
  seen_name[0] = 0;
}

static double a[64], b[64], c[64];

static void reset(void) {
  for (int i = 0; i < 64; ++i) {
    a[i] = i % 9 == 0 ? 8 + i : 0.25;
    b[i] = i;
    c[i] = -i;
  }
}

static void untouched(const char* what) {
  for (int i = 0; i < 64; ++i)
    if (b[i] != i || c[i] != -i) {
      printf("%s: changed its arrays\n", what);
      ++failures;
      return;
    }
}

static void legal(void) {
  const int n = 8;
  const double one = 1, zero = 0;
  reset();
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int l = 0; l < n; ++l) sum += a[l * n + i] * b[j * n + l];
      if (sum - c[j * n + i] > 1e-9 || c[j * n + i] - sum > 1e-9) {
        printf("a legal call gave a wrong result\n");
        ++failures;
        return;
      }
    }
  if (seen_count) {
    printf("a legal call reached xerbla\n");
    ++failures;
  }
}

int main(void) {
  const int n = 8, negative = -1, small = 7;
  const double one = 1;
  int pivots[8], info;
  legal();
  reset();
  dgemm_("Q", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n);
  expect("bad transa", "DGEMM", 1);
  dgemm_("N", "N", &negative, &n, &n, &one, a, &n, b, &n, &one, c, &n);
  expect("negative m", "DGEMM", 3);
  dgemm_("N", "N", &n, &n, &n, &one, a, &small, b, &n, &one, c, &n);
  expect("small lda", "DGEMM", 8);
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &small);
  expect("small ldc", "DGEMM", 13);
  untouched("dgemm");
  dtrsm_("L", "U", "N", "X", &n, &n, &one, a, &n, b, &n);
  expect("bad diag", "DTRSM", 4);
  untouched("dtrsm");
  dgesv_(&negative, &n, a, &n, pivots, b, &n, &info);
  expect("dgesv, negative n", "DGESV", 1);
  if (info != -1) printf("dgesv: info %d, expected -1\n", info), ++failures;
  dpotrf_("Q", &n, c, &n, &info);
  expect("dpotrf, bad uplo", "DPOTRF", 1);
  untouched("LAPACK");
  /* cblas: libraries number the arguments in different ways. The program must get an error. */
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, small, b, n, 1, c, n);
  printf("cblas_dgemm with small lda: xerbla called %d times, '%s' %d\n", seen_count, seen_name,
         seen_position);
  seen_count = 0;
  untouched("cblas_dgemm");
  legal();
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
