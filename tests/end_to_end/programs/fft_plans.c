/* Many plans of all kinds at once: fft_plans SEED RESULTS.
 *
 * Makes 1,000 plans over one input array that they all read, each with results of its own, and
 * executes them from 8 threads in random order: once on its own arrays and once, by new-array
 * execution, into a copy. Writes all results to the file RESULTS, for comparison with those of
 * another run. */

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPlans = 1000, kThreads = 8, kSlot = 2048, kInput = 1 << 15 };

enum kind { C2C, SPLIT, R2C, SPLIT_R2C, C2R, R2R, R2R_2D, MANY, SINGLE_C2C, SINGLE_R2R, kKinds };

/* A plan. Offsets count doubles; a slot holds results and, behind them, the copy. */
typedef struct {
  enum kind kind;
  int n, from;
  fftw_plan plan;
  fftwf_plan single;
} entry;

static entry g_entries[kPlans];
static int g_order[2 * kPlans];
static double *g_input, *g_results, *g_copies;
static float* g_single_input;
static pthread_mutex_t g_next_lock = PTHREAD_MUTEX_INITIALIZER;
static int g_next;
static unsigned long long g_state;

static int pick(int low, int high) {
  g_state = g_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return low + (int)((g_state >> 33) % (unsigned)(high - low + 1));
}

static fftw_plan make_double(const entry* e, double* in, double* out) {
  const unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
  const int n = e->n, half = n / 2;
  const fftw_iodim dim = {n, 1, 1};
  const fftw_iodim64 dim64 = {n, 1, 2};
  const fftw_r2r_kind kinds[2] = {FFTW_REDFT10 + n % 4, FFTW_R2HC};
  switch (e->kind) {
    case C2C:
      return fftw_plan_dft_1d(n, (fftw_complex*)in, (fftw_complex*)out, n % 2 ? 1 : -1, flags);
    case SPLIT: return fftw_plan_guru_split_dft(1, &dim, 0, NULL, in, in + n, out, out + n, flags);
    case R2C: return fftw_plan_dft_r2c_2d(4, half, in, (fftw_complex*)out, flags);
    case SPLIT_R2C: /* results in every second element of two rows */
      return fftw_plan_guru64_split_dft_r2c(1, &dim64, 0, NULL, in, out, out + 2 * n, flags);
    case C2R: return fftw_plan_dft_c2r_1d(n, (fftw_complex*)in, out, flags);
    case R2R: return fftw_plan_r2r_1d(n, in, out, (fftw_r2r_kind)(n % 11), flags);
    case R2R_2D: return fftw_plan_r2r(2, (int[]){half, 5}, in, out, kinds, flags);
    default:
      return fftw_plan_many_dft(1, &n, 3, (fftw_complex*)in, NULL, 3, 1, (fftw_complex*)out, NULL,
                                1, n, -1, flags);
  }
}

static void make(entry* e, int i) {
  double* out = g_results + (size_t)i * kSlot;
  e->kind = (enum kind)pick(0, kKinds - 1);
  e->n = pick(16, 300);
  e->from = 2 * pick(0, kInput / 4); /* aligned as any other, for new-array execution */
  float* single = g_single_input + 2 * e->from;
  if (e->kind == SINGLE_C2C) {
    e->single = fftwf_plan_dft_1d(e->n, (fftwf_complex*)single, (fftwf_complex*)out, -1,
                                  FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  } else if (e->kind == SINGLE_R2R) {
    e->single =
        fftwf_plan_r2r_1d(e->n, single, (float*)out, FFTW_DHT, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  } else {
    e->plan = make_double(e, g_input + e->from, out);
  }
  if (e->plan == NULL && e->single == NULL) {
    printf("plan %d (kind %d, n %d) is NULL\n", i, e->kind, e->n);
    exit(1);
  }
}

static void execute_elsewhere(const entry* e, double* out) {
  double* in = g_input + e->from;
  float* single = g_single_input + 2 * e->from;
  switch (e->kind) {
    case SPLIT: fftw_execute_split_dft(e->plan, in, in + e->n, out, out + e->n); return;
    case R2C: fftw_execute_dft_r2c(e->plan, in, (fftw_complex*)out); return;
    case SPLIT_R2C: fftw_execute_split_dft_r2c(e->plan, in, out, out + 2 * e->n); return;
    case C2R: fftw_execute_dft_c2r(e->plan, (fftw_complex*)in, out); return;
    case R2R:
    case R2R_2D: fftw_execute_r2r(e->plan, in, out); return;
    case SINGLE_C2C:
      fftwf_execute_dft(e->single, (fftwf_complex*)single, (fftwf_complex*)out);
      return;
    case SINGLE_R2R: fftwf_execute_r2r(e->single, single, (float*)out); return;
    default: fftw_execute_dft(e->plan, (fftw_complex*)in, (fftw_complex*)out);
  }
}

static void* work(void* unused) {
  for (;;) {
    pthread_mutex_lock(&g_next_lock);
    const int next = g_next++;
    pthread_mutex_unlock(&g_next_lock);
    if (next >= 2 * kPlans) return unused;
    const int which = g_order[next] % kPlans;
    const entry* e = &g_entries[which];
    if (g_order[next] >= kPlans) {
      execute_elsewhere(e, g_copies + (size_t)which * kSlot);
    } else if (e->plan != NULL) {
      fftw_execute(e->plan);
    } else {
      fftwf_execute(e->single);
    }
  }
}

static void prepare(void) {
  const size_t results = (size_t)kPlans * kSlot;
  g_input = fftw_alloc_real(kInput);
  g_single_input = fftwf_alloc_real(2 * kInput);
  g_results = fftw_alloc_real(results);
  g_copies = fftw_alloc_real(results);
  for (int i = 0; i < kInput; ++i) g_input[i] = pick(-1000, 1000) / 1000.0;
  for (int i = 0; i < 2 * kInput; ++i) g_single_input[i] = (float)pick(-1000, 1000) / 1000;
  for (size_t i = 0; i < results; ++i) g_results[i] = g_copies[i] = 77;
  for (int i = 0; i < kPlans; ++i) make(&g_entries[i], i);
  for (int i = 0; i < 2 * kPlans; ++i) g_order[i] = i;
  for (int i = 2 * kPlans; i-- > 1;) {
    const int other = pick(0, i), kept = g_order[i];
    g_order[i] = g_order[other];
    g_order[other] = kept;
  }
}

/* A slot of floats uses the first half of a slot of doubles. */
static void write_slot(FILE* file, const double* slot, int single) {
  for (int k = 0; k < kSlot; ++k) {
    const double value = single ? (double)((const float*)slot)[k] : slot[k];
    fwrite(&value, sizeof value, 1, file);
  }
}

/* Writes all slots and copies as doubles: those of double plans first, then the others, widened. */
static int write_results(const char* path) {
  FILE* file = fopen(path, "wb");
  if (file == NULL) return 1;
  for (int single = 0; single < 2; ++single) {
    for (int i = 0; i < kPlans; ++i) {
      if ((g_entries[i].single != NULL) != single) continue;
      write_slot(file, g_results + (size_t)i * kSlot, single);
      write_slot(file, g_copies + (size_t)i * kSlot, single);
    }
    if (single == 0) printf("doubles %ld\n", ftell(file) / (long)sizeof(double));
  }
  return fclose(file) != 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  g_state = strtoull(argv[1], NULL, 10);
  prepare();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  const int failed = write_results(argv[2]);
  for (int i = 0; i < kPlans; ++i) {
    if (g_entries[i].plan != NULL) fftw_destroy_plan(g_entries[i].plan);
    if (g_entries[i].single != NULL) fftwf_destroy_plan(g_entries[i].single);
  }
  return failed;
}
