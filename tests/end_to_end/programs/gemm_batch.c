/* Batches of products through CBLAS, grouped and strided, against loops from the definition. Linked
 * to a NumPy wheel's OpenBLAS (64-bit integers; the strided names lack the wheel's prefix). Prints
 * "ok".
 *
 * Matrices have more than 100 rows: for smaller ones the batch functions of OpenBLAS 0.3.30 crash.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRowMajor = 101, kColumnMajor = 102, kNoTrans = 111, kTrans = 112, kConjTrans = 113 };

void scipy_cblas_dgemm_batch64_(int layout, const int* transa, const int* transb, const int64_t* m,
                                const int64_t* n, const int64_t* k, const double* alpha,
                                const double** a, const int64_t* lda, const double** b,
                                const int64_t* ldb, const double* beta, double** c,
                                const int64_t* ldc, int64_t groups, const int64_t* sizes);
void scipy_cblas_zgemm_batch64_(int layout, const int* transa, const int* transb, const int64_t* m,
                                const int64_t* n, const int64_t* k, const void* alpha,
                                const void** a, const int64_t* lda, const void** b,
                                const int64_t* ldb, const void* beta, void** c, const int64_t* ldc,
                                int64_t groups, const int64_t* sizes);
void cblas_dgemm_batch_strided(int layout, int transa, int transb, int64_t m, int64_t n, int64_t k,
                               double alpha, const double* a, int64_t lda, int64_t stridea,
                               const double* b, int64_t ldb, int64_t strideb, double beta,
                               double* c, int64_t ldc, int64_t stridec, int64_t batch_size);

enum { kM = 110, kN = 130, kK = 150, kLd = 160, kElements = kLd * kLd };

static double uniform(void) { return rand() / (RAND_MAX + 1.0) * 2 - 1; }

static double complex* matrix(void) {
  double complex* x = malloc(kElements * sizeof *x);
  for (int i = 0; i < kElements; ++i) x[i] = uniform() + I * uniform();
  return x;
}

static double complex element(const double complex* a, int layout, int trans, int i, int j) {
  const int row = trans == kNoTrans ? i : j;
  const int col = trans == kNoTrans ? j : i;
  const double complex x = layout == kRowMajor ? a[row * kLd + col] : a[row + col * kLd];
  return trans == kConjTrans ? conj(x) : x;
}

static void product(int layout, int transa, int transb, double complex alpha,
                    const double complex* a, const double complex* b, double complex beta,
                    double complex* c) {
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      double complex sum = 0;
      for (int l = 0; l < kK; ++l)
        sum += element(a, layout, transa, i, l) * element(b, layout, transb, l, j);
      double complex* to = layout == kRowMajor ? &c[i * kLd + j] : &c[i + j * kLd];
      *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
    }
  }
}

/* gamma_k of Higham, Accuracy and Stability (3.4), for |a|, |b|, |c| <= sqrt(2). */
static void compare(const double complex* want, const double complex* got, const char* what) {
  for (int i = 0; i < kElements; ++i) {
    if (!(cabs(want[i] - got[i]) <= 8 * (kK + 2) * 2.3e-16 * kK)) {
      printf("%s: element %d is %g%+gi, not %g%+gi\n", what, i, creal(got[i]), cimag(got[i]),
             creal(want[i]), cimag(want[i]));
      exit(1);
    }
  }
}

enum { kCalls = 5, kGroups = 2 };
static const int64_t kSizes[kGroups] = {2, 3};
static const int64_t m[kGroups] = {kM, kM}, n[kGroups] = {kN, kN}, k[kGroups] = {kK, kK};
static const int64_t ld[kGroups] = {kLd, kLd};

static void complex_groups(int layout) {
  const int transa[kGroups] = {kNoTrans, kConjTrans}, transb[kGroups] = {kTrans, kNoTrans};
  const double complex alpha[kGroups] = {1, 0.5 - 2 * I}, beta[kGroups] = {0, 1 + I};
  double complex *a[kCalls], *b[kCalls], *c[kCalls], *want[kCalls];
  for (int i = 0; i < kCalls; ++i) {
    a[i] = i == 3 ? a[2] : matrix(); /* two calls share an input */
    b[i] = matrix();
    c[i] = matrix();
    want[i] = malloc(kElements * sizeof **want);
    for (int e = 0; e < kElements; ++e) want[i][e] = c[i][e];
    const int g = i < kSizes[0] ? 0 : 1;
    product(layout, transa[g], transb[g], alpha[g], a[i], b[i], beta[g], want[i]);
  }
  scipy_cblas_zgemm_batch64_(layout, transa, transb, m, n, k, alpha, (const void**)a, ld,
                             (const void**)b, ld, beta, (void**)c, ld, kGroups, kSizes);
  for (int i = 0; i < kCalls; ++i) compare(want[i], c[i], "complex group");
}

/* Returns the real parts of a complex matrix as a real matrix. */
static double* real_part(const double complex* x) {
  double* r = malloc(kElements * sizeof *r);
  for (int i = 0; i < kElements; ++i) r[i] = creal(x[i]);
  return r;
}
static void to_complex(double complex* to, const double* from) {
  for (int i = 0; i < kElements; ++i) to[i] = from[i];
}

static void real_strided(int layout, int shared) {
  double* a = malloc(kCalls * kElements * sizeof *a);
  double* b = malloc(kCalls * kElements * sizeof *b);
  double* c = malloc(kCalls * kElements * sizeof *c);
  double complex* want[kCalls];
  for (int i = 0; i < kCalls; ++i) {
    double complex *x = matrix(), *y = matrix();
    want[i] = matrix();
    for (int e = 0; e < kElements; ++e) {
      a[i * kElements + e] = shared && i > 0 ? a[e] : creal(x[e]);
      b[i * kElements + e] = creal(y[e]);
      c[i * kElements + e] = creal(want[i][e]);
    }
    to_complex(x, a + i * kElements);
    to_complex(y, b + i * kElements);
    to_complex(want[i], c + i * kElements);
    product(layout, kTrans, kNoTrans, 2, x, y, -1, want[i]);
  }
  cblas_dgemm_batch_strided(layout, kTrans, kNoTrans, kM, kN, kK, 2, a, kLd, shared ? 0 : kElements,
                            b, kLd, kElements, -1, c, kLd, kElements, kCalls);
  for (int i = 0; i < kCalls; ++i) {
    double complex* got = malloc(kElements * sizeof *got);
    to_complex(got, c + i * kElements);
    compare(want[i], got, "real strided");
  }
}

static void real_groups(int layout) {
  const int transa[kGroups] = {kNoTrans, kTrans}, transb[kGroups] = {kTrans, kNoTrans};
  const double alpha[kGroups] = {1, 3}, beta[kGroups] = {0, -1};
  double *a[kCalls], *b[kCalls], *c[kCalls];
  double complex* want[kCalls];
  for (int i = 0; i < kCalls; ++i) {
    double complex *x = matrix(), *y = matrix();
    want[i] = matrix();
    a[i] = real_part(x);
    b[i] = real_part(y);
    c[i] = real_part(want[i]);
    to_complex(x, a[i]);
    to_complex(y, b[i]);
    to_complex(want[i], c[i]);
    const int g = i < kSizes[0] ? 0 : 1;
    product(layout, transa[g], transb[g], alpha[g], x, y, beta[g], want[i]);
  }
  scipy_cblas_dgemm_batch64_(layout, transa, transb, m, n, k, alpha, (const double**)a, ld,
                             (const double**)b, ld, beta, c, ld, kGroups, kSizes);
  for (int i = 0; i < kCalls; ++i) {
    double complex* got = malloc(kElements * sizeof *got);
    to_complex(got, c[i]);
    compare(want[i], got, "real group");
  }
}

int main(int argc, char** argv) {
  srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
  for (int layout = kRowMajor; layout <= kColumnMajor; ++layout) {
    complex_groups(layout);
    real_groups(layout);
  }
  /* Column-major calls are broken in OpenBLAS 0.3.30 (its pull request 5979). */
  real_strided(kRowMajor, 0);
  real_strided(kRowMajor, 1);
  puts("ok");
  return 0;
}
