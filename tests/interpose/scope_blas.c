/* A BLAS with one function, which returns the library's own number. Nothing shows the size of its
 * integers, so its calls must pass unchanged. */
#include <stddef.h>

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc, size_t length_a, size_t length_b) {
  (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b,
      (void)ldb;
  (void)beta, (void)ldc;
  *c = TAG + 10.0 * (double)length_a + 100.0 * (double)length_b;
}
