/* Uses FFTW from a library that its program did not load into the global scope (RTLD_LOCAL). */
#include <fftw3.h>
#include <math.h>

__attribute__((visibility("default"))) double plugin_error(void) {
  fftw_complex a[16], out[16];
  fftw_plan plan = fftw_plan_dft_1d(16, a, out, FFTW_FORWARD, FFTW_ESTIMATE);
  if (plan == NULL) return 1;
  for (int i = 0; i < 16; ++i) a[i][0] = i == 1, a[i][1] = 0;
  fftw_execute(plan);
  double error = 0;
  for (int k = 0; k < 16; ++k) { /* a shifted delta: exp(-2 pi i k / 16) */
    error = fmax(error, fabs(out[k][0] - cos(2 * 3.14159265358979323846 * k / 16)));
    error = fmax(error, fabs(out[k][1] + sin(2 * 3.14159265358979323846 * k / 16)));
  }
  fftw_destroy_plan(plan);
  /* A transform of one point is unknown to the drop-in library: this scope's FFTW must run it. */
  fftw_complex point = {3, 4}, copy = {0, 0};
  plan = fftw_plan_dft_1d(1, &point, &copy, FFTW_FORWARD, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_execute_dft(plan, &copy, &point);
  fftw_destroy_plan(plan);
  fftw_cleanup();
  return fmax(error, fabs(copy[0] - 3) + fabs(copy[1] - 4));
}
