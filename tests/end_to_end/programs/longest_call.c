/* Computes one product again and again, checks each result, and prints the times of the
 * two longest calls. Somebody disturbs the server meanwhile, so one call takes long. The program
 * ends a few calls after it, or after some seconds. Arguments: dimension, seconds. All elements are
 * small integers, so every order of summation gives the same result. Of the longest call it also
 * prints the time of its end on the monotonic clock, and for how long its thread was ready to run
 * and had no core. */

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc);

/* Far longer than a call, and far shorter than a silence. */
static const double kLongCall = 0.3;
static const int kCallsAfter = 3;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The time for which this thread was ready to run and had no core [s]; 0 where Linux does not say.
 */
static double waited_for_core(int schedstat) {
  char text[128] = "";
  unsigned long long ran_ns = 0, waited_ns = 0;
  if (pread(schedstat, text, sizeof text - 1, 0) <= 0) return 0;
  return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 ? 1e-9 * (double)waited_ns : 0;
}

static void multiply(int n, const double* a, const double* b, double* c) {
  for (int j = 0; j < n; ++j) {
    double* column = c + (size_t)j * n;
    memset(column, 0, (size_t)n * sizeof *c);
    for (int l = 0; l < n; ++l) {
      for (int i = 0; i < n; ++i) column[i] += a[(size_t)l * n + i] * b[(size_t)j * n + l];
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int n = atoi(argv[1]);
  const double seconds = atof(argv[2]), one = 1, zero = 0;
  const size_t bytes = (size_t)n * n * sizeof(double);
  double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes), *expected = malloc(bytes);
  if (!a || !b || !c || !expected) return 2;
  for (int i = 0; i < n * n; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  multiply(n, a, b, expected);
  const int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
  double longest = 0, second = 0, ended = 0, waited = 0;
  int calls = 0, wrong = 0, left = -1;
  for (const double end = now() + seconds; left != 0 && now() < end; ++calls) {
    for (int i = 0; i < n * n; ++i) c[i] = NAN;
    const double waited_before = waited_for_core(schedstat), begin = now();
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    const double taken = now() - begin;
    wrong += memcmp(c, expected, bytes) != 0;
    if (calls > 0 && taken > second) second = taken; /* the first one connects */
    if (second > longest) {
      const double usual = longest;
      longest = second;
      second = usual;
      ended = begin + taken;
      waited = waited_for_core(schedstat) - waited_before;
    }
    if (left > 0) --left;
    if (calls > 0 && left < 0 && taken > kLongCall) left = kCallsAfter;
  }
  printf("%d calls, %d wrong, longest %.4f s, second %.4f s\n", calls, wrong, longest, second);
  printf("ended at %.4f s, waited %.4f s for a core\n", ended, waited);
  return wrong != 0;
}
