/* A program as others write them, with no idea of Outboard: RQ factorizations in every precision
 * and by every interface. Prints what it got, so that two runs can be compared:
 *
 *   call WHAT            the next call
 *   exact WHAT INTEGER   must be the same
 *   near WHAT NUMBERS    must agree to rounding
 *   out LETTER N         so many calls in that precision had work for a device
 *
 * adding_a_routine_program SEED */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void Fortran(const int* m, const int* n, void* a, const int* lda, void* tau, void* work,
                     const int* lwork, int* info);
Fortran sgerqf_, dgerqf_, cgerqf_, zgerqf_;
typedef int High(int layout, int m, int n, void* a, int lda, void* tau);
High LAPACKE_sgerqf, LAPACKE_dgerqf, LAPACKE_cgerqf, LAPACKE_zgerqf;
typedef int Middle(int layout, int m, int n, void* a, int lda, void* tau, void* work, int lwork);
Middle LAPACKE_sgerqf_work, LAPACKE_dgerqf_work, LAPACKE_cgerqf_work, LAPACKE_zgerqf_work;

typedef struct {
  char letter;
  int is_single;
  int parts; /* real numbers of an element */
  Fortran* fortran;
  High* high;
  Middle* middle;
} Precision;
static const Precision kPrecisions[] = {
    {'s', 1, 1, sgerqf_, LAPACKE_sgerqf, LAPACKE_sgerqf_work},
    {'d', 0, 1, dgerqf_, LAPACKE_dgerqf, LAPACKE_dgerqf_work},
    {'c', 1, 2, cgerqf_, LAPACKE_cgerqf, LAPACKE_cgerqf_work},
    {'z', 0, 2, zgerqf_, LAPACKE_zgerqf, LAPACKE_zgerqf_work},
};

enum { kRowMajor = 101, kColumnMajor = 102, kGuard = 5 };
enum { kFortran, kHigh, kMiddle, kForms };
static const char* const kFormNames[] = {"?gerqf_", "LAPACKE_?gerqf", "LAPACKE_?gerqf_work"};

static uint64_t g_state;
static int g_out;
static int g_refused;

/* Replaces the reference's handler, which ends the program. */
void xerbla_(const char* name, const int* argument, size_t length) {
  (void)name;
  (void)length;
  g_refused = *argument;
}

static double random_number(void) { /* -1 .. 1; xorshift64* */
  g_state ^= g_state >> 12;
  g_state ^= g_state << 25;
  g_state ^= g_state >> 27;
  return (double)(int64_t)(g_state * 0x2545F4914F6CDD1DULL) / 9223372036854775808.0;
}

/* Memory with a known value at every place that holds no result. */
typedef struct {
  const Precision* p;
  size_t count; /* elements */
  unsigned char* bytes;
} Array;

static size_t element_bytes(const Precision* p) {
  return (size_t)p->parts * (p->is_single ? 4U : 8U);
}

static Array make(const Precision* p, size_t count) {
  Array a = {p, count + kGuard, NULL};
  a.bytes = malloc(a.count * element_bytes(p));
  if (a.bytes == NULL) abort();
  memset(a.bytes, 0xDB, a.count * element_bytes(p));
  return a;
}

static void set(Array* a, size_t element, double shift) {
  for (int part = 0; part < a->p->parts; ++part) {
    const double value = random_number() + (part == 0 ? shift : 0);
    const size_t at = element * (size_t)a->p->parts + (size_t)part;
    if (a->p->is_single)
      ((float*)a->bytes)[at] = (float)value;
    else
      ((double*)a->bytes)[at] = value;
  }
}

static void print_element(const Array* a, size_t element) {
  for (int part = 0; part < a->p->parts; ++part) {
    const size_t at = element * (size_t)a->p->parts + (size_t)part;
    printf(" %a", a->p->is_single ? (double)((float*)a->bytes)[at] : ((double*)a->bytes)[at]);
  }
}

static int is_untouched(const Array* a, size_t element) {
  for (size_t i = 0; i < element_bytes(a->p); ++i) {
    if (a->bytes[element * element_bytes(a->p) + i] != 0xDB) return 0;
  }
  return 1;
}

/* Element (i, j) of an m x n matrix lies at i * row + j * column. Prints the elements, and counts
 * the writes to other places. */
static void print_matrix(const char* name, const Array* a, size_t m, size_t n, size_t row,
                         size_t column) {
  unsigned char* inside = calloc(a->count, 1);
  if (inside == NULL) abort();
  printf("near %s", name);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < m; ++i) {
      print_element(a, i * row + j * column);
      inside[i * row + j * column] = 1;
    }
  }
  int written_outside = 0;
  for (size_t e = 0; e < a->count; ++e) written_outside += !inside[e] && !is_untouched(a, e);
  printf("\nexact outside_%s %d\n", name, written_outside);
  free(inside);
}

static int as_integer(const Array* work) {
  if (is_untouched(work, 0)) return -1;
  return (int)(work->p->is_single ? (double)((float*)work->bytes)[0] : ((double*)work->bytes)[0]);
}

/* lwork < 0: the smallest legal length. Returns the value in WORK(1). */
static int factor(const Precision* p, int form, int layout, int m, int n, int lwork) {
  const int by_rows = layout == kRowMajor;
  const int ld = (by_rows ? n : m) + 3;
  const int short_side = m < n ? m : n;
  const size_t row = by_rows ? (size_t)ld : 1;
  const size_t column = by_rows ? 1 : (size_t)ld;
  Array a = make(p, (size_t)ld * (size_t)(by_rows ? m : n));
  Array tau = make(p, (size_t)short_side);
  const int length = lwork < 0 ? (m > 1 ? m : 1) : lwork;
  Array work = make(p, (size_t)(length > 0 ? length : 1));
  /* Elements at the row ends of the trapezoid R are large, so that the factors are well
   * conditioned. */
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i)
      set(&a, (size_t)i * row + (size_t)j * column, i - m == j - n ? 2.0 * (m + n) : 0);
  }
  int info = 99;
  g_refused = 0;
  printf("call %s with ?=%c %s m=%d n=%d lwork=%d\n", kFormNames[form], p->letter,
         by_rows ? "row-major" : "column-major", m, n, length);
  if (form == kFortran) p->fortran(&m, &n, a.bytes, &ld, tau.bytes, work.bytes, &length, &info);
  if (form == kHigh) info = p->high(layout, m, n, a.bytes, ld, tau.bytes);
  if (form == kMiddle) info = p->middle(layout, m, n, a.bytes, ld, tau.bytes, work.bytes, length);
  printf("exact info %d\nexact refused %d\n", info, g_refused);
  print_matrix("a", &a, (size_t)m, (size_t)n, row, column);
  print_matrix("tau", &tau, info == 0 ? (size_t)short_side : 0, 1, 1, 1);
  const int best = form == kHigh ? 0 : as_integer(&work);
  /* The needed or the best length: libraries differ, the documentation says the best one. */
  if (form != kHigh && info == 0) printf("exact work_1_suffices %d\n", best >= 1 && best >= m);
  g_out += info == 0 && short_side > 0;
  free(a.bytes);
  free(tau.bytes);
  free(work.bytes);
  return best;
}

/* A query: only WORK(1) may change. */
static int best_length(const Precision* p, int m, int n) {
  const int query = -1;
  const int lda = m > 1 ? m : 1;
  int info = 99;
  Array a = make(p, (size_t)lda * (size_t)n);
  Array tau = make(p, (size_t)(m < n ? m : n));
  Array work = make(p, 1);
  printf("call query of ?gerqf_ with ?=%c m=%d n=%d\n", p->letter, m, n);
  p->fortran(&m, &n, a.bytes, &lda, tau.bytes, work.bytes, &query, &info);
  printf("exact info %d\nexact work_1 %d\n", info, as_integer(&work));
  print_matrix("a", &a, 0, 0, 1, 1);
  print_matrix("tau", &tau, 0, 0, 1, 1);
  print_matrix("work", &work, 1, 1, 1, 1);
  const int best = as_integer(&work);
  free(a.bytes);
  free(tau.bytes);
  free(work.bytes);
  return best;
}

/* The library must report the error, and nothing may change. */
static void refused(const Precision* p, int m, int n, int lda) {
  const int lwork = 64;
  int info = 99;
  Array a = make(p, 64);
  Array tau = make(p, 8);
  Array work = make(p, (size_t)lwork);
  g_refused = 0;
  printf("call illegal ?gerqf_ with ?=%c m=%d n=%d lda=%d\n", p->letter, m, n, lda);
  p->fortran(&m, &n, a.bytes, &lda, tau.bytes, work.bytes, &lwork, &info);
  printf("exact info %d\nexact refused %d\n", info, g_refused);
  print_matrix("a", &a, 0, 0, 1, 1);
  print_matrix("tau", &tau, 0, 0, 1, 1);
  free(a.bytes);
  free(tau.bytes);
  free(work.bytes);
}

static void factors_of(const Precision* p, int m, int n) {
  factor(p, kFortran, kColumnMajor, m, n, best_length(p, m, n));
  factor(p, kFortran, kColumnMajor, m, n, -1);
  factor(p, kHigh, kColumnMajor, m, n, -1);
  factor(p, kHigh, kRowMajor, m, n, -1);
  factor(p, kMiddle, kColumnMajor, m, n, -1);
  factor(p, kMiddle, kRowMajor, m, n, -1);
}

int main(int argc, char** argv) {
  g_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  if (g_state == 0) return 2;
  for (size_t i = 0; i < sizeof kPrecisions / sizeof *kPrecisions; ++i) {
    const Precision* p = &kPrecisions[i];
    g_out = 0;
    const int other = 2 + (int)((g_state >> 8) % 60);
    factors_of(p, 1, 1);
    factors_of(p, 7, 4);
    factors_of(p, 4, 7);
    factors_of(p, 33, 33);
    factors_of(p, other, 40);
    factors_of(p, 40, other);
    factor(p, kFortran, kColumnMajor, 0, 3, -1);
    factor(p, kFortran, kColumnMajor, 3, 0, -1);
    factor(p, kFortran, kColumnMajor, 6, 9, 5); /* too little workspace */
    refused(p, -1, 3, 3);
    refused(p, 3, -1, 3);
    refused(p, 5, 3, 4);
    printf("out %c %d\n", p->letter, g_out);
  }
  return 0;
}
