/* A BLAS with two functions, for the program on a machine without another BLAS. It counts its
 * calls. */

int local_calls;

void ilaver_(int* major, int* minor, int* patch) {
  *major = 3;
  *minor = *patch = 0;
}

/* Computes only C := alpha A B + beta C. */
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc) {
  (void)transa;
  (void)transb;
  ++local_calls;
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
    }
  }
}
