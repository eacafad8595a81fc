/* Calls the dgemm_ of the library that it is linked to. The first call is in its constructor. */
#include <stddef.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*, size_t, size_t);

static double in_constructor = 0;

double run(void) {
  const int one = 1;
  const double x = 1;
  double c = 0;
  dgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &x, &c, &one, 1, 1);
  return c;
}

double constructed(void) { return in_constructor; }

__attribute__((constructor)) static void early(void) { in_constructor = run(); }
