/* An iteration with a constant matrix: iterate N STEPS WIDTH CHANGES [SEED].
 *
 * Each step multiplies the N x N matrix A with the N x WIDTH block X and makes the next X from the
 * product. With CHANGES one element of A changes before each step. All numbers are small integers,
 * so products are exact, and each is checked by a random projection: r'(AX) = (r'A)X. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*, size_t, size_t);

static unsigned long long g_state;

static int pick(int low, int high) {
  g_state = g_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return low + (int)((g_state >> 33) % (unsigned)(high - low + 1));
}

static double* numbers(size_t count, int most) {
  double* all = malloc(count * sizeof *all);
  if (all == NULL) abort();
  for (size_t i = 0; i < count; ++i) all[i] = pick(-most, most);
  return all;
}

/* Returns 1 if y = a x. A wrong y passes only with an unlucky r. */
static int is_product(const double* a, const double* x, const double* y, int n, int width) {
  double* r = numbers((size_t)n, 1);
  double* ra = calloc((size_t)n, sizeof *ra);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) ra[j] += r[i] * a[(size_t)j * n + i];
  }
  int right = 1;
  for (int k = 0; k < width; ++k) {
    double expected = 0;
    double found = 0;
    for (int i = 0; i < n; ++i) {
      expected += ra[i] * x[(size_t)k * n + i];
      found += r[i] * y[(size_t)k * n + i];
    }
    right = right && expected == found;
  }
  free(r);
  free(ra);
  return right;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int n = atoi(argv[1]);
  const int steps = atoi(argv[2]);
  const int width = atoi(argv[3]);
  const int changes = atoi(argv[4]);
  g_state = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
  double* a = numbers((size_t)n * n, 4);
  double* x = numbers((size_t)n * width, 4);
  double* y = numbers((size_t)n * width, 4);
  const double one = 1;
  const double zero = 0;
  for (int step = 0; step < steps; ++step) {
    if (changes) a[(size_t)pick(0, n - 1) * n + pick(0, n - 1)] += pick(1, 3);
    dgemm_("N", "N", &n, &width, &n, &one, a, &n, x, &n, &zero, y, &n, 1, 1);
    if (!is_product(a, x, y, n, width)) {
      printf("step %d: wrong\n", step);
      return 1;
    }
    for (size_t i = 0; i < (size_t)n * width; ++i) x[i] = (double)((long long)y[i] % 5);
  }
  printf("%d steps: right\n", steps);
  free(a);
  free(x);
  free(y);
  return 0;
}
