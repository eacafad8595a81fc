/* Functions that have the same name as an alias and do something else. */

double dgemm(double a, int b, float c, double d, long e, double f, int g, int h, int i, int j,
             int k) {
  return a + 2 * b + 4.0 * c + 8 * d + 16.0 * (double)e + 32 * f + g + 2 * h + 3 * i + 4 * j +
         5 * k;
}

int DGEMM_(int a) { return a + 1; } /* small integers, no addresses */

double call_dgemm(void) { return dgemm(0.5, 1, 0.25F, 2.0, 3L, 0.125, 7, 11, 13, 17, 19); }
int call_DGEMM(void) { return DGEMM_(41); }
