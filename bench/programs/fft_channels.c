/* Analyses many channels at the same time: batches of short transforms in single precision.
 *
 * usage: fft_channels [CHANNELS] */

#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLength = 4096, kFrames = 50 };

int main(int argc, char** argv) {
  const int channels = argc > 1 ? atoi(argv[1]) : 256;
  const size_t count = (size_t)channels * kLength;
  fftwf_complex* in = fftwf_malloc(count * sizeof *in);
  fftwf_complex* out = fftwf_malloc(count * sizeof *out);
  double* power = calloc(kLength, sizeof *power);
  if (channels < 1 || in == NULL || out == NULL || power == NULL) return 1;
  const int length = kLength;
  const fftwf_plan plan = fftwf_plan_many_dft(1, &length, channels, in, NULL, 1, kLength, out, NULL,
                                              1, kLength, FFTW_FORWARD, FFTW_ESTIMATE);
  for (int frame = 0; frame < kFrames; ++frame) {
    for (size_t i = 0; i < count; ++i) {
      const unsigned mixed = (unsigned)(i + (size_t)frame) * 2654435761U;
      in[i][0] = (float)(mixed >> 16) / 65536 - 0.5F;
      in[i][1] = 0;
    }
    fftwf_execute(plan);
    for (size_t i = 0; i < count; ++i)
      power[i % kLength] += out[i][0] * out[i][0] + out[i][1] * out[i][1];
  }
  double total = 0;
  for (int i = 0; i < kLength; ++i) total += sqrt(power[i]);
  printf("result %.17g\n", total);
  fftwf_destroy_plan(plan);
  fftwf_free(in);
  fftwf_free(out);
  free(power);
  return 0;
}
