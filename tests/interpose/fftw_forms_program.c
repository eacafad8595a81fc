/* Calls the real, guru and Fortran forms with chosen arguments (fftw_random.c has random ones).
 * Prints every result. The test compares the numbers of a native run with those of a run with
 * remote transforms. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDoubles = 4000 };

/* FFTW's legacy Fortran interface: all arguments are references, dimensions are reversed. */
void dfftw_plan_dft_1d_(fftw_plan*, int*, double*, double*, int*, int*);
void dfftw_plan_dft_2d_(fftw_plan*, int*, int*, double*, double*, int*, int*);
void dfftw_plan_dft_3d_(fftw_plan*, int*, int*, int*, double*, double*, int*, int*);
void dfftw_plan_dft_(fftw_plan*, int*, int*, double*, double*, int*, int*);
void dfftw_plan_many_dft_(fftw_plan*, int*, int*, int*, double*, int*, int*, int*, double*, int*,
                          int*, int*, int*, int*);
void dfftw_execute_(fftw_plan*);
void dfftw_execute_dft_(fftw_plan*, double*, double*);
void dfftw_destroy_plan_(fftw_plan*);

static double *a, *b;
static int g_plans;

static void fill(void) {
  unsigned state = 1;
  for (int i = 0; i < kDoubles; ++i) {
    state = state * 1664525u + 1013904223u;
    a[i] = (double)(state >> 8) / (1 << 24) - 0.5;
    b[i] = 77;
  }
}

static void show(const char* name, const double* values, int count) {
  printf("%s", name);
  for (int i = 0; i < count; ++i) printf(" %.17g", values[i]);
  printf("\n");
  fill();
}

static void run(const char* name, fftw_plan plan, const double* values, int count) {
  if (plan == NULL) {
    printf("%s NULL\n", name);
    return;
  }
  ++g_plans;
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  show(name, values, count);
}

static void real_forward(void) {
  fftw_complex* out = (fftw_complex*)b;
  const int n[2] = {4, 7}, inembed[2] = {5, 10}, onembed[2] = {5, 6};
  const unsigned e = FFTW_ESTIMATE;
  run("r2c_1d", fftw_plan_dft_r2c_1d(9, a, out, e), b, 20);
  run("r2c_2d", fftw_plan_dft_r2c_2d(4, 6, a, out, e), b, 40);
  run("r2c_3d", fftw_plan_dft_r2c_3d(3, 4, 5, a, out, e), b, 80);
  run("r2c", fftw_plan_dft_r2c(2, n, a, out, e), b, 40);
  run("r2c in place", fftw_plan_dft_r2c(2, n, a, (fftw_complex*)a, e), a, 40);
  run("many r2c", fftw_plan_many_dft_r2c(2, n, 3, a, inembed, 2, 120, out, onembed, 1, 40, e), b,
      250);
  run("many r2c in place",
      fftw_plan_many_dft_r2c(2, n, 2, a, NULL, 1, 40, (fftw_complex*)a, NULL, 1, 20, e), a, 90);
  fftw_plan plan = fftw_plan_dft_r2c_1d(9, b, (fftw_complex*)(b + 100), e);
  fftw_execute_dft_r2c(plan, a, (fftw_complex*)(b + 200));
  fftw_destroy_plan(plan);
  ++g_plans;
  show("new r2c", b, 300);
}

static void real_backward(void) {
  const int n[2] = {4, 7};
  const unsigned e = FFTW_ESTIMATE;
  /* The input is the spectrum of real data; for others the result is not defined. */
  for (int in_place = 0; in_place < 2; ++in_place) {
    double* real = fftw_alloc_real(256);
    fftw_complex* half = in_place ? (fftw_complex*)real : fftw_alloc_complex(128);
    fftw_plan backward = fftw_plan_dft_c2r(2, n, half, real, e);
    fftw_plan forward = fftw_plan_dft_r2c(2, n, a, (fftw_complex*)b, e);
    g_plans += 2;
    fftw_execute(forward);
    for (int i = 0; i < 256; ++i) real[i] = 5;
    for (int i = 0; i < 16; ++i) half[i][0] = b[2 * i], half[i][1] = b[2 * i + 1];
    if (in_place) fftw_execute(backward);
    if (!in_place) fftw_execute_dft_c2r(backward, half, real);
    fftw_destroy_plan(forward);
    fftw_destroy_plan(backward);
    for (int row = 0; row < 4; ++row) show("c2r", real + row * (in_place ? 8 : 7), 7);
  }
}

static void guru(void) {
  fftw_complex *in = (fftw_complex*)a, *out = (fftw_complex*)b;
  const fftw_iodim d[2] = {{4, 30, 1}, {5, 3, 4}}, h[2] = {{2, 200, 40}, {3, 1, 100}};
  const fftw_iodim64 d64[1] = {{6, -2, 3}}, h64[1] = {{4, 50, 30}};
  const unsigned e = FFTW_ESTIMATE;
  run("guru", fftw_plan_guru_dft(2, d, 2, h, in, out, FFTW_BACKWARD, e), b, 600);
  run("guru64", fftw_plan_guru64_dft(1, d64, 1, h64, in + 100, out, FFTW_FORWARD, e), b, 300);
  run("guru r2c", fftw_plan_guru_dft_r2c(1, d + 1, 1, h, a, out, e), b, 200);
  run("guru64 transposed", fftw_plan_guru64_dft(0, NULL, 1, h64, in, out, FFTW_FORWARD, e), b, 300);
}

static void fortran(void) {
  int nx = 3, ny = 4, nz = 5, rank = 2, howmany = 2, stride = 2, idist = 40, odist = 50, sign = -1;
  int flags = FFTW_ESTIMATE, n[2] = {3, 4}, inembed[2] = {4, 5}, onembed[2] = {5, 4};
  fftw_plan plan;
  dfftw_plan_dft_1d_(&plan, &nz, a, b, &sign, &flags);
  dfftw_execute_(&plan);
  dfftw_destroy_plan_(&plan);
  show("fortran 1d", b, 12);
  dfftw_plan_dft_2d_(&plan, &nx, &ny, a, b, &sign, &flags);
  dfftw_execute_dft_(&plan, a + 10, b + 10);
  dfftw_destroy_plan_(&plan);
  show("fortran 2d", b, 40);
  dfftw_plan_dft_3d_(&plan, &nx, &ny, &nz, a, a, &sign, &flags);
  dfftw_execute_(&plan);
  dfftw_destroy_plan_(&plan);
  show("fortran 3d", a, 130);
  dfftw_plan_dft_(&plan, &rank, n, a, b, &sign, &flags);
  dfftw_execute_(&plan);
  dfftw_destroy_plan_(&plan);
  show("fortran dft", b, 30);
  dfftw_plan_many_dft_(&plan, &rank, n, &howmany, a, inembed, &stride, &idist, b, onembed, &stride,
                       &odist, &sign, &flags);
  dfftw_execute_(&plan);
  dfftw_destroy_plan_(&plan);
  show("fortran many", b, 250);
  g_plans += 5;
}

int main(void) {
  a = fftw_alloc_real(kDoubles);
  b = fftw_alloc_real(kDoubles);
  fill();
  real_forward();
  real_backward();
  guru();
  fortran();
  printf("made plans=%d\n", g_plans);
  int (*count)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "ob_standin_count");
  if (count != NULL) {
    printf("count decide=%d ahead=%d execute=%d local=%d\n", count("decide"), count("ahead"),
           count("execute"), count("local"));
  }
  return 0;
}
