/* An ordinary FFTW program, run alone and under the drop-in library: fftw_program CASE.
 *
 * It checks every result against the definition of the DFT, and that bytes between the elements
 * keep their poison, and prints what happened: hashes of whole arrays (equal bits give equal
 * hashes), NULL or not, and how many calls it made. Compiled once for double and once (-DSINGLE)
 * for float. */

#define _GNU_SOURCE
#include <fftw3.h> /* before complex.h: fftw_complex is an array of two */

#include <complex.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SINGLE
#define X(name) fftwf_##name
typedef float real;
#define EPSILON FLT_EPSILON
#else
#define X(name) fftw_##name
typedef double real;
#define EPSILON DBL_EPSILON
#endif
typedef X(complex) cplx;

enum { kBytePoison = 0x7b, kMaxDims = 4 };

/* One problem in guru form. */
typedef struct {
  int rank, howmany;
  int n[kMaxDims], is[kMaxDims], os[kMaxDims];
  int idist, odist, sign;
} problem;

typedef struct {
  size_t size;
  cplx *in, *out, *before; /* in == out in place; before: copy of the input */
} arrays;

static int g_failures, g_executes, g_plans;
static unsigned g_state = 12345;

static real random_real(void) {
  g_state = g_state * 1664525u + 1013904223u;
  return (real)((int)(g_state >> 9) - (1 << 22)) / (1 << 22);
}

static void fail(const char* what) {
  printf("FAILED %s\n", what);
  ++g_failures;
}

static void hash(const char* name, const void* data, size_t bytes) {
  uint64_t h = 14695981039346656037ULL;
  for (size_t i = 0; i < bytes; ++i) h = (h ^ ((const unsigned char*)data)[i]) * 1099511628211ULL;
  printf("%s %016llx\n", name, (unsigned long long)h);
}

static int points(const problem* p) {
  int product = 1;
  for (int i = 0; i < p->rank; ++i) product *= p->n[i];
  return product;
}

/* Returns the place of element `linear` (row-major) of transform b. */
static int place(const problem* p, int b, int linear, const int* stride, int dist) {
  int at = b * dist;
  for (int i = p->rank; i-- > 0; linear /= p->n[i]) at += linear % p->n[i] * stride[i];
  return at;
}

static arrays make_arrays(const problem* p, size_t size, int in_place) {
  arrays a;
  a.size = size;
  a.in = X(malloc)(size * sizeof(cplx));
  a.out = in_place ? a.in : X(malloc)(size * sizeof(cplx));
  a.before = malloc(size * sizeof(cplx));
  memset(a.out, kBytePoison, size * sizeof(cplx));
  memset(a.in, kBytePoison, size * sizeof(cplx));
  for (int b = 0; b < p->howmany; ++b) {
    for (int i = 0; i < points(p); ++i) {
      cplx* z = &a.in[place(p, b, i, p->is, p->idist)];
      (*z)[0] = random_real();
      (*z)[1] = random_real();
    }
  }
  memcpy(a.before, a.in, size * sizeof(cplx));
  return a;
}

static void free_arrays(arrays* a) {
  if (a->out != a->in) X(free)(a->out);
  X(free)(a->in);
  free(a->before);
}

/* FFTW 3.3 manual, section 4.8: Y[k] = sum X[j] exp(sign 2 pi i j k / n), in every dimension. */
static double complex definition(const problem* p, const cplx* in, int b, int k) {
  double complex sum = 0;
  for (int j = 0; j < points(p); ++j) {
    double turns = 0;
    for (int d = p->rank, jj = j, kk = k; d-- > 0; jj /= p->n[d], kk /= p->n[d]) {
      turns += (double)((long)(jj % p->n[d]) * (kk % p->n[d]) % p->n[d]) / p->n[d];
    }
    const cplx* z = &in[place(p, b, j, p->is, p->idist)];
    sum += ((double)(*z)[0] + I * (double)(*z)[1]) * cexp(p->sign * 2 * M_PI * I * turns);
  }
  return sum;
}

/* Expects a relative L2 error below 30 eps (FFTW's own accuracy benchmark stays below 1 eps
 * sqrt(log2 N)), untouched gaps and, out of place, an unchanged input. */
static void check(const char* name, const problem* p, const arrays* a) {
  double error = 0, norm = 0;
  unsigned char* element = calloc(a->size, 1);
  for (int b = 0; b < p->howmany; ++b) {
    for (int k = 0; k < points(p); ++k) {
      const int at = place(p, b, k, p->os, p->odist);
      const double complex expected = definition(p, a->before, b, k);
      const double complex got = a->out[at][0] + I * a->out[at][1];
      error += creal((got - expected) * conj(got - expected));
      norm += creal(expected * conj(expected));
      element[at] = 1;
    }
  }
  if (!(sqrt(error / norm) < 30 * EPSILON)) fail(name);
  cplx poison;
  memset(poison, kBytePoison, sizeof poison);
  for (size_t i = 0; i < a->size; ++i) {
    const void* kept = a->out == a->in ? a->before[i] : poison;
    if (!element[i] && memcmp(a->out[i], kept, sizeof poison) != 0) fail("gap");
  }
  if (a->out != a->in && memcmp(a->in, a->before, a->size * sizeof(cplx)) != 0) fail("input");
  hash(name, a->out, a->size * sizeof(cplx));
  free(element);
}

static X(plan) counted(X(plan) plan) {
  if (plan == NULL) {
    fail("plan is NULL");
    exit(1);
  }
  ++g_plans;
  return plan;
}

static void finish(const char* name, const problem* p, arrays* a, X(plan) plan) {
  X(execute)(plan);
  ++g_executes;
  check(name, p, a);
  X(destroy_plan)(plan);
  free_arrays(a);
}

static problem row_major(int rank, const int* n, int sign) {
  problem p = {.rank = rank, .howmany = 1, .sign = sign};
  for (int i = rank, stride = 1; i-- > 0; stride *= n[i]) {
    p.n[i] = n[i];
    p.is[i] = p.os[i] = stride;
  }
  return p;
}

static void basic_case(void) {
  const int n[4] = {6, 5, 4, 3};
  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int sign = FFTW_FORWARD; sign <= FFTW_BACKWARD; sign += 2) {
      const unsigned flags = FFTW_ESTIMATE;
      problem p = row_major(1, n, sign);
      arrays a = make_arrays(&p, points(&p), in_place);
      finish("1d", &p, &a, counted(X(plan_dft_1d)(6, a.in, a.out, sign, flags)));
      p = row_major(2, n, sign);
      a = make_arrays(&p, points(&p), in_place);
      finish("2d", &p, &a, counted(X(plan_dft_2d)(6, 5, a.in, a.out, sign, flags)));
      p = row_major(3, n, sign);
      a = make_arrays(&p, points(&p), in_place);
      finish("3d", &p, &a, counted(X(plan_dft_3d)(6, 5, 4, a.in, a.out, sign, flags)));
      p = row_major(4, n, sign);
      a = make_arrays(&p, points(&p), in_place);
      finish("4d", &p, &a, counted(X(plan_dft)(4, n, a.in, a.out, sign, flags)));
    }
  }
}

static void many_case(void) {
  const int n[2] = {4, 6}, inembed[2] = {5, 8}, onembed[2] = {6, 7};
  { /* embedded, strided, spread */
    problem p = {.rank = 2,
                 .howmany = 3,
                 .n = {4, 6},
                 .is = {16, 2},
                 .os = {21, 3},
                 .idist = 90,
                 .odist = 130,
                 .sign = -1};
    arrays a = make_arrays(&p, 400, 0);
    finish("embedded", &p, &a,
           counted(X(plan_many_dft)(2, n, 3, a.in, inembed, 2, 90, a.out, onembed, 3, 130, -1,
                                    FFTW_ESTIMATE)));
  }
  { /* the same in place */
    problem p = {.rank = 2,
                 .howmany = 3,
                 .n = {4, 6},
                 .is = {16, 2},
                 .os = {16, 2},
                 .idist = 90,
                 .odist = 90,
                 .sign = 1};
    arrays a = make_arrays(&p, 300, 1);
    finish("embedded in place", &p, &a,
           counted(X(plan_many_dft)(2, n, 3, a.in, inembed, 2, 90, a.out, inembed, 2, 90, 1,
                                    FFTW_ESTIMATE)));
  }
  { /* interleaved in, one after another out */
    problem p = {.rank = 1,
                 .howmany = 5,
                 .n = {8},
                 .is = {5},
                 .os = {1},
                 .idist = 1,
                 .odist = 8,
                 .sign = -1};
    arrays a = make_arrays(&p, 40, 0);
    finish("transposed", &p, &a,
           counted(X(plan_many_dft)(1, p.n, 5, a.in, NULL, 5, 1, a.out, NULL, 1, 8, -1,
                                    FFTW_ESTIMATE)));
  }
  { /* overlapping windows */
    problem p = {.rank = 1,
                 .howmany = 5,
                 .n = {8},
                 .is = {1},
                 .os = {1},
                 .idist = 3,
                 .odist = 8,
                 .sign = -1};
    arrays a = make_arrays(&p, 40, 0);
    finish("windows", &p, &a,
           counted(X(plan_many_dft)(1, p.n, 5, a.in, NULL, 1, 3, a.out, NULL, 1, 8, -1,
                                    FFTW_ESTIMATE)));
  }
}

static void new_array_case(void) {
  const int n[2] = {8, 5};
  const problem p = row_major(2, n, -1);
  for (int in_place = 0; in_place < 2; ++in_place) {
    arrays planned = make_arrays(&p, 40, in_place);
    X(plan) plan = counted(X(plan_dft_2d)(8, 5, planned.in, planned.out, -1, FFTW_ESTIMATE));
    for (int i = 0; i < 3; ++i) {
      arrays a = make_arrays(&p, 40, in_place);
      X(execute_dft)(plan, a.in, a.out);
      ++g_executes;
      check("new arrays", &p, &a);
      free_arrays(&a);
    }
    if (memcmp(planned.in, planned.before, 40 * sizeof(cplx)) != 0)
      fail("the plan's arrays were touched");
    finish("own arrays", &p, &planned, plan);
  }
  /* planned without arrays */
  X(plan) plan = counted(X(plan_dft_2d)(8, 5, NULL, NULL, -1, FFTW_ESTIMATE));
  arrays a = make_arrays(&p, 40, 1);
  X(execute_dft)(plan, a.in, a.in);
  ++g_executes;
  check("arrays later", &p, &a);
  free_arrays(&a);
  X(destroy_plan)(plan);
}

/* New arrays that break FFTW's rules, and outputs that only look like a part of the input. All of
 * these run natively. */
static void unfit_case(void) {
  const int n[1] = {64};
  problem p = row_major(1, n, -1);
  arrays a = make_arrays(&p, 64, 0), b = make_arrays(&p, 64, 1);
  X(plan)
  out_of_place = counted(X(plan_dft_1d)(64, a.in, a.out, -1, FFTW_ESTIMATE | FFTW_UNALIGNED));
  X(plan) in_place = counted(X(plan_dft_1d)(64, b.in, b.in, -1, FFTW_ESTIMATE | FFTW_UNALIGNED));
  X(execute_dft)(in_place, a.in, a.out);
  hash("in-place plan, two arrays", a.out, 64 * sizeof(cplx));
  X(execute_dft)(out_of_place, b.in, b.in);
  hash("two-array plan, in place", b.in, 64 * sizeof(cplx));
  X(destroy_plan)(out_of_place);
  X(destroy_plan)(in_place);
  free_arrays(&a);
  free_arrays(&b);
  p.is[0] = p.os[0] = 2;
  cplx* both = X(malloc)(128 * sizeof(cplx));
  X(plan)
  zipped =
      counted(X(plan_many_dft)(1, n, 1, both, NULL, 2, 0, both + 1, NULL, 2, 0, -1, FFTW_ESTIMATE));
  for (int i = 0; i < 128; ++i) both[i][0] = i % 7, both[i][1] = i % 5;
  X(execute)(zipped);
  hash("interleaved", both, 128 * sizeof(cplx));
  X(destroy_plan)(zipped);
  X(free)(both);
}

static void say_null(const char* name, X(plan) plan) {
  printf("%s: %s\n", name, plan == NULL ? "NULL" : "plan");
  X(destroy_plan)(plan);
}

static void null_case(void) {
  const unsigned e = FFTW_ESTIMATE;
  const int n[2] = {8, 8}, zero[2] = {8, 0}, one[1] = {1};
  cplx* a = X(malloc)(4096 * sizeof(cplx));
  cplx* b = X(malloc)(4096 * sizeof(cplx));
  say_null("n = 0", X(plan_dft_1d)(0, a, b, -1, e));
  say_null("n < 0", X(plan_dft_1d)(-4, a, b, -1, e));
  say_null("n = 8 x 0", X(plan_dft)(2, zero, a, b, -1, e));
  say_null("rank < 0", X(plan_dft)(-1, n, a, b, -1, e));
  say_null("howmany < 0", X(plan_many_dft)(1, n, -1, a, NULL, 1, 8, b, NULL, 1, 8, -1, e));
  say_null("wisdom only", X(plan_dft_1d)(1024, a, b, -1, FFTW_WISDOM_ONLY));
  say_null("in place, other strides",
           X(plan_many_dft)(1, n, 1, a, NULL, 1, 0, a, NULL, 2, 0, -1, e));
  say_null("flags = -1", X(plan_dft_1d)(64, a, b, -1, (unsigned)-1));
  say_null("n = 1", X(plan_dft_1d)(1, a, b, -1, e));
  say_null("n = 1, many", X(plan_many_dft)(1, one, 4, a, NULL, 1, 1, b, NULL, 1, 1, -1, e));
  say_null("rank 0", X(plan_dft)(0, n, a, b, -1, e));
  say_null("howmany = 0", X(plan_many_dft)(1, n, 0, a, NULL, 1, 8, b, NULL, 1, 8, -1, e));
  say_null("stride 0", X(plan_many_dft)(1, n, 1, a, NULL, 0, 0, b, NULL, 0, 0, -1, e));
  say_null("stride < 0", X(plan_many_dft)(1, n, 1, a + 8, NULL, -1, 0, b + 8, NULL, -1, 0, -1, e));
  say_null("sign 0", X(plan_dft_1d)(8, a, b, 0, e));
  say_null("sign 7", X(plan_dft_1d)(8, a, b, 7, e));
  say_null("no arrays", X(plan_dft_1d)(8, NULL, NULL, -1, e));
  say_null("measured n = 0", X(plan_dft_1d)(0, a, b, -1, FFTW_MEASURE));
  say_null("measured rank < 0", X(plan_dft)(-1, n, a, b, -1, FFTW_PATIENT));
  say_null("measured in place, other strides",
           X(plan_many_dft)(1, n, 1, a, NULL, 1, 0, a, NULL, 2, 0, -1, FFTW_MEASURE));
  X(free)(a);
  X(free)(b);
}

static void measure_case(void) {
  const int sizes[] = {96, 96, 20, 96}; /* EXHAUSTIVE means it */
  const unsigned flags[] = {FFTW_MEASURE, FFTW_PATIENT, FFTW_EXHAUSTIVE | FFTW_DESTROY_INPUT,
                            FFTW_ESTIMATE};
  const char* names[] = {"measure", "patient", "exhaustive", "estimate"};
  for (int i = 0; i < 4; ++i) {
    const int n = sizes[i];
    const problem p = row_major(1, &n, -1);
    const size_t bytes = n * sizeof(cplx);
    arrays a = make_arrays(&p, n, 0);
    X(forget_wisdom)();
    X(plan) plan = counted(X(plan_dft_1d)(n, a.in, a.out, -1, flags[i]));
    const int kept = memcmp(a.in, a.before, bytes) == 0;
    printf("%s keeps its arrays: %d\n", names[i], kept);
    memcpy(a.in, a.before, bytes);
    memset(a.out, kBytePoison, bytes);
    X(execute)(plan);
    ++g_executes;
    const int destroys = (flags[i] & FFTW_DESTROY_INPUT) != 0;
    if (destroys) memcpy(a.in, a.before, bytes);
    check("measured", &p, &a);
    X(destroy_plan)(plan);
    free_arrays(&a);
  }
}

static void lifecycle_case(void) {
  const int n[1] = {128};
  const problem p = row_major(1, n, 1);
  X(destroy_plan)(NULL);
  for (int i = 0; i < 300; ++i) { /* addresses come again */
    arrays a = make_arrays(&p, 128, i % 2);
    X(plan) plan = counted(X(plan_dft_1d)(128, a.in, a.out, 1, FFTW_ESTIMATE));
    X(plan)
    other = counted(X(plan_r2r_1d)(8, (real*)a.before, (real*)a.before, FFTW_DHT, FFTW_ESTIMATE));
    double add, mul, fma;
    X(flops)(plan, &add, &mul, &fma);
    char* text = X(sprint_plan)(plan);
    if (text == NULL || add <= 0 || X(cost)(plan) < 0) fail("the plan is not FFTW's own");
    free(text);
    X(destroy_plan)(other);
    if (i == 0) {
      finish("first", &p, &a, plan);
    } else {
      X(destroy_plan)(plan);
      free_arrays(&a);
    }
  }
  arrays a = make_arrays(&p, 128, 0);
  counted(X(plan_dft_1d)(128, a.in, a.out, 1, FFTW_ESTIMATE)); /* left to cleanup */
  X(cleanup)();
  finish("after cleanup", &p, &a, counted(X(plan_dft_1d)(128, a.in, a.out, 1, FFTW_ESTIMATE)));
}

static X(plan) g_shared;

static void* execute_often(void* unused) {
  (void)unused;
  cplx a[60], expected[60];
  for (int i = 0; i < 60; ++i) a[i][0] = i, a[i][1] = -i;
  X(execute_dft)(g_shared, a, expected);
  for (int repeat = 0; repeat < 50; ++repeat) {
    cplx out[60];
    X(execute_dft)(g_shared, a, out);
    if (memcmp(out, expected, sizeof out) != 0) return "threads differ";
  }
  return NULL;
}

static void threads_case(void) {
  pthread_t thread[4];
  g_shared = counted(X(plan_dft_2d)(6, 10, X(alloc_complex)(60), X(alloc_complex)(60), -1,
                                    FFTW_ESTIMATE | FFTW_UNALIGNED));
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], NULL, execute_often, NULL);
  for (int i = 0; i < 4; ++i) {
    void* problem_found = NULL;
    pthread_join(thread[i], &problem_found);
    if (problem_found != NULL) fail(problem_found);
  }
  g_executes += 4 * 51;
  X(destroy_plan)(g_shared);
}

static int g_outside_main;

static void whole_life(const char* name) {
  const int n[1] = {100};
  const problem p = row_major(1, n, -1);
  arrays a = make_arrays(&p, 100, 0);
  finish(name, &p, &a, counted(X(plan_dft_1d)(100, a.in, a.out, -1, FFTW_ESTIMATE)));
}

static void report(void) {
  int (*count)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "ob_standin_count");
  printf("made plans=%d executes=%d\n", g_plans, g_executes);
  if (count == NULL) return;
  printf("count decide=%d ahead=%d execute=%d local=%d rehearse=%d\n", count("decide"),
         count("ahead"), count("execute"), count("local"), count("rehearse"));
}

__attribute__((constructor)) static void before_main(void) {
  g_outside_main = getenv("OB_OUTSIDE_MAIN") != NULL;
  if (g_outside_main) whole_life("before main");
}

__attribute__((destructor)) static void after_main(void) {
  if (!g_outside_main) return;
  whole_life("after main");
  report();
  fflush(stdout);
  if (g_failures != 0) _Exit(1);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"basic", basic_case},         {"many", many_case},
               {"new_array", new_array_case}, {"unfit", unfit_case},
               {"null", null_case},           {"measure", measure_case},
               {"lifecycle", lifecycle_case}, {"threads", threads_case}};
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; ++i) {
    if (strcmp(argv[1], cases[i].name) == 0) cases[i].run();
  }
  if (g_outside_main) return 0; /* the destructor reports */
  report();
  return g_failures == 0 ? 0 : 1;
}
