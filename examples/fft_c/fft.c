/* A 1-D and a 2-D complex Fourier transform with FFTW.
 * usage: example_fft [N1 [N2]]     N1 points, and N2 x N2 points; by default 1048576 and 768 */

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The same numbers on every machine: two runs can be compared byte by byte. */
static double next_random(unsigned long long* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

static void fill(fftw_complex* x, size_t count, unsigned long long seed) {
  for (size_t i = 0; i < count; ++i) {
    const double re = next_random(&seed);
    x[i] = re + I * next_random(&seed);
  }
}

/* |back / count - x| / |x|: transforming there and back multiplies by the number of points. */
static double round_trip(const fftw_complex* x, const fftw_complex* back, size_t count) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < count; ++i) {
    const double complex d = back[i] / (double)count - x[i];
    difference += creal(d) * creal(d) + cimag(d) * cimag(d);
    norm += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
  }
  return sqrt(difference / norm);
}

/* |y[0] - sum of x| / sum of |x|: the zero frequency is known without any transform. */
static double zero_frequency(const fftw_complex* x, const fftw_complex* y, size_t count) {
  double complex sum = 0;
  double size = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += x[i];
    size += cabs(x[i]);
  }
  return cabs(y[0] - sum) / size;
}

static int transform(int rank, const int* n, unsigned long long seed, FILE* output) {
  size_t count = 1;
  for (int d = 0; d < rank; ++d) count *= (size_t)n[d];
  fftw_complex* x = fftw_alloc_complex(count);
  fftw_complex* y = fftw_alloc_complex(count);
  fftw_complex* back = fftw_alloc_complex(count);
  if (!x || !y || !back) {
    printf("not enough memory for %zu points\n", count);
    return 0;
  }
  fftw_plan forward, backward;
  if (rank == 1) {
    forward = fftw_plan_dft_1d(n[0], x, y, FFTW_FORWARD, FFTW_ESTIMATE);
    backward = fftw_plan_dft_1d(n[0], y, back, FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  } else {
    forward = fftw_plan_dft_2d(n[0], n[1], x, y, FFTW_FORWARD, FFTW_ESTIMATE);
    backward =
        fftw_plan_dft_2d(n[0], n[1], y, back, FFTW_BACKWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  }
  fill(x, count, seed);
  fftw_execute(forward);
  fftw_execute(backward);
  const double trip = round_trip(x, back, count), zero = zero_frequency(x, y, count);
  const int good = trip <= 1e-14 * log2((double)count) && zero <= 1e-14 * log2((double)count);
  printf("%d-D transform of %zu points, and back: residual %.1e, zero frequency off by %.1e (%s)\n",
         rank, count, trip, zero, good ? "good" : "BAD");
  if (output) fwrite(y, sizeof *y, count, output);
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_free(x);
  fftw_free(y);
  fftw_free(back);
  return good;
}

int main(int argc, char** argv) {
  const int one = argc > 1 ? atoi(argv[1]) : 1048576;
  const int edge = argc > 2 ? atoi(argv[2]) : 768;
  if (one < 2 || edge < 2) {
    printf("usage: %s [N1 [N2]], both at least 2\n", argv[0]);
    return 2;
  }
  const int square[2] = {edge, edge};
  const char* path = getenv("OUTBOARD_EXAMPLE_OUTPUT");
  FILE* output = path ? fopen(path, "wb") : NULL;
  if (path && !output) printf("cannot write %s\n", path);
  const int good = transform(1, &one, 11, output) & transform(2, square, 13, output);
  if (output) fclose(output);
  return good && (!path || output) ? 0 : 1;
}
