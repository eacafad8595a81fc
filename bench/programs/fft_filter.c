/* Filters a long signal with a row of filters: real transforms of one size, again and again.
 *
 * usage: fft_filter [LENGTH] */

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kFilters = 24 };

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  const int half = n / 2 + 1;
  double* signal = fftw_malloc((size_t)n * sizeof *signal);
  fftw_complex* spectrum = fftw_malloc((size_t)half * sizeof *spectrum);
  if (n < 2 || signal == NULL || spectrum == NULL) return 1;
  const fftw_plan forward = fftw_plan_dft_r2c_1d(n, signal, spectrum, FFTW_ESTIMATE);
  const fftw_plan backward = fftw_plan_dft_c2r_1d(n, spectrum, signal, FFTW_ESTIMATE);
  unsigned long long state = 1;
  for (int i = 0; i < n; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    signal[i] = (double)(state >> 33) / (1ULL << 31) - 0.5;
  }
  for (int filter = 1; filter <= kFilters; ++filter) {
    fftw_execute(forward);
    for (int i = 0; i < half; ++i) {
      const double gain = 1 / (n * (1 + (double)i * filter / (40.0 * n)));
      spectrum[i][0] *= gain;
      spectrum[i][1] *= gain;
    }
    fftw_execute(backward);
  }
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += signal[i] * signal[i];
  printf("result %.17g\n", sqrt(sum));
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_free(signal);
  fftw_free(spectrum);
  return 0;
}
