/* Transforms blocks of 160 different lengths, each with a plan of its own that is used twice.
 *
 * usage: fft_sizes [LONGEST] */

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSizes = 160 };

static double there_and_back(fftw_complex* data, int n) {
  const fftw_plan forward = fftw_plan_dft_1d(n, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
  const fftw_plan backward = fftw_plan_dft_1d(n, data, data, FFTW_BACKWARD, FFTW_ESTIMATE);
  fftw_execute(forward);
  const double first = data[n / 3][0];
  fftw_execute(backward);
  for (int i = 0; i < n; ++i) {
    data[i][0] /= n;
    data[i][1] /= n;
  }
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  return first;
}

int main(int argc, char** argv) {
  const int longest = argc > 1 ? atoi(argv[1]) : 400000;
  fftw_complex* data = fftw_malloc((size_t)longest * sizeof *data);
  if (longest < kSizes || data == NULL) return 1;
  for (int i = 0; i < longest; ++i) {
    data[i][0] = sin(i * 0.1) + 0.3 * sin(i * 0.017);
    data[i][1] = cos(i * 0.03);
  }
  double sum = 0;
  for (int size = 1; size <= kSizes; ++size)
    sum += fabs(there_and_back(data, (int)((long)longest * size / kSizes)));
  printf("result %.17g %.17g\n", sum, data[longest / 2][0]);
  fftw_free(data);
  return 0;
}
