/* Moves waves on a square sheet through time: complex transforms in two dimensions, in place.
 *
 * usage: fft_waves [EDGE] */

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSteps = 30 };

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 640;
  fftw_complex* sheet = fftw_malloc((size_t)n * (size_t)n * sizeof *sheet);
  if (n < 2 || sheet == NULL) return 1;
  const fftw_plan forward = fftw_plan_dft_2d(n, n, sheet, sheet, FFTW_FORWARD, FFTW_ESTIMATE);
  const fftw_plan backward = fftw_plan_dft_2d(n, n, sheet, sheet, FFTW_BACKWARD, FFTW_ESTIMATE);
  for (int i = 0; i < n * n; ++i) {
    const double x = (double)(i % n) / n - 0.5;
    const double y = (double)(i / n) / n - 0.5;
    sheet[i][0] = exp(-40 * (x * x + y * y));
    sheet[i][1] = 0;
  }
  for (int step = 0; step < kSteps; ++step) {
    fftw_execute(forward);
    for (int i = 0; i < n * n; ++i) {
      const double column = i % n;
      const double row = (double)(i / n);
      const double damped = (1 - 1e-6 * (column + row)) / ((double)n * n);
      sheet[i][0] *= damped;
      sheet[i][1] *= damped;
    }
    fftw_execute(backward);
  }
  double sum = 0;
  for (int i = 0; i < n * n; ++i) sum += sheet[i][0] * sheet[i][0] + sheet[i][1] * sheet[i][1];
  printf("result %.17g %.17g\n", sqrt(sum), sheet[n / 2][0]);
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_free(sheet);
  return 0;
}
