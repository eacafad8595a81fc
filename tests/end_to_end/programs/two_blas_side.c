/* One half of the program with two BLAS libraries: it is built twice, each time with another one.
 */

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);

__attribute__((visibility("default"))) void product(int n, const double* a, const double* b,
                                                    double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}
