/* Two libraries, loaded separately (RTLD_LOCAL), each with its own BLAS. Arguments: the two
 * libraries, dimension. Prints a digest of each result: two BLAS libraries add in different orders,
 * so the digests show the library that computed. */

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Product)(int, const double*, const double*, double*);

static Product load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  Product product;
  void* symbol = library ? dlsym(library, "product") : NULL;
  if (!symbol) {
    printf("cannot load %s (%s)\n", path, dlerror());
    exit(1);
  }
  memcpy(&product, &symbol, sizeof product);
  return product;
}

static uint64_t digest(const double* values, size_t count) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  const unsigned char* bytes = (const unsigned char*)values;
  for (size_t i = 0; i < count * sizeof *values; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

static int wrong(int n, const double* a, const double* b, const double* c) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int l = 0; l < n; ++l) sum += a[l * n + i] * b[l * n + j];
      /* |a|, |b| <= 1: the error of n products is below n eps each. */
      if (!(fabs(sum - c[j * n + i]) <= 8.0 * n * n * 2.3e-16)) return 1;
    }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int n = atoi(argv[3]);
  const size_t count = (size_t)n * (size_t)n;
  double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b),
         *c = malloc(count * sizeof *c);
  if (!a || !b || !c) return 2;
  srand(7); /* the same numbers every time: digests are compared between runs */
  for (size_t i = 0; i < count; ++i) {
    a[i] = 2.0 * rand() / RAND_MAX - 1;
    b[i] = 2.0 * rand() / RAND_MAX - 1;
  }
  int failures = 0;
  Product sides[2] = {load(argv[1]), load(argv[2])};
  for (int round = 0; round < 4;
       ++round) { /* in turn: a cached pointer to the other BLAS would show */
    for (size_t i = 0; i < count; ++i) c[i] = NAN;
    sides[round % 2](n, a, b, c);
    printf("side %d %016llx\n", round % 2, (unsigned long long)digest(c, count));
    failures += wrong(n, a, b, c);
  }
  printf("%d wrong\n", failures);
  free(a);
  free(b);
  free(c);
  return failures ? 1 : 0;
}
