/* Random problems over every FFTW maker, C and legacy Fortran: fftw_random SEED COUNT [MAKER].
 *
 * Prints both arrays after every execution, gaps and all; the test compares the numbers of a native
 * run with those of a run whose transforms went elsewhere. Compiled once for double and once
 * (-DSINGLE) for float. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SINGLE
#define X(name) fftwf_##name
#define F(name) sfftw_##name
typedef float real;
#else
#define X(name) fftw_##name
#define F(name) dfftw_##name
typedef double real;
#endif
typedef X(complex) cplx;

enum { kReals = 16000, kPoison = 77, kMaxRank = 3 };
enum kind { C2C, R2C, C2R, R2R };

/* One problem; strides and distances count elements of their own side. */
typedef struct {
  enum kind kind;
  int split, in_place, sign, flags;
  int rank, n[kMaxRank], kinds[kMaxRank];
  int is[kMaxRank], os[kMaxRank];
  int batches, h_n[2], h_is[2], h_os[2];              /* batch dimensions */
  int at[4];                                          /* where in a block: in, in_i, out, out_i */
  int embedded, inembed[kMaxRank], onembed[kMaxRank]; /* of plan_many */
} problem;

/* A memory block that holds the arrays of one call. */
typedef struct {
  real* block;
  real *in, *in_i, *out, *out_i; /* _i: imaginary parts of split arrays */
} arrays;

static unsigned long long g_state;
static int g_made, g_nulls;

static int pick(int low, int high) {
  g_state = g_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return low + (int)((g_state >> 33) % (unsigned)(high - low + 1));
}

static real value(void) { return (real)pick(-1000, 1000) / 1000; }

static int complex_side(const problem* p, int input) {
  return p->kind == C2C || p->kind == (input ? C2R : R2C);
}

static int stored(const problem* p, int d, int input) {
  const int halved = p->kind != C2C && d == p->rank - 1 && complex_side(p, input);
  return halved ? p->n[d] / 2 + 1 : p->n[d];
}

/* Returns the number of elements that a side reaches if its first element is at 0. */
static int reach(const problem* p, int input) {
  int last = 0;
  for (int d = 0; d < p->rank; ++d) {
    last += (stored(p, d, input) - 1) * abs(input ? p->is[d] : p->os[d]);
  }
  for (int d = 0; d < p->batches; ++d) {
    last += (p->h_n[d] - 1) * abs(input ? p->h_is[d] : p->h_os[d]);
  }
  return last + 1;
}

static problem random_problem(enum kind kind, int rank) {
  problem p = {.kind = kind, .rank = rank, .flags = FFTW_ESTIMATE | FFTW_UNALIGNED, .h_n = {1, 1}};
  static const int longest[] = {0, 24, 7, 4};
  for (int d = 0; d < rank; ++d) {
    p.n[d] = pick(1, longest[rank]);
    p.kinds[d] = pick(FFTW_R2HC, FFTW_RODFT11);
    if (p.kinds[d] == FFTW_REDFT00 && p.n[d] == 1 && pick(0, 3) != 0) p.n[d] = 2;
  }
  p.in_place = pick(0, 2) == 0;
  p.sign = pick(0, 1) ? FFTW_FORWARD : FFTW_BACKWARD;
  if (pick(0, 3) == 0) p.flags |= FFTW_DESTROY_INPUT;
  if (pick(0, 3) == 0) p.flags |= FFTW_PRESERVE_INPUT; /* NULL for some c2r */
  return p;
}

/* Sets strides without overlap, with gaps: the dimensions of transform and batch come in random
 * order from the fastest on. In place, both sides get the strides of the longer elements. */
static void random_strides(problem* p, int input) {
  int order[kMaxRank + 2], count = p->rank + p->batches;
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count; i-- > 1;) {
    const int other = pick(0, i), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  int stride = pick(1, 2);
  for (int i = 0; i < count; ++i) {
    const int d = order[i];
    const int length = d < p->rank ? stored(p, d, input) : p->h_n[d - p->rank];
    int* to = d < p->rank ? (input ? p->is + d : p->os + d)
                          : (input ? p->h_is + d - p->rank : p->h_os + d - p->rank);
    *to = stride;
    stride = stride * length + pick(0, 1);
  }
}

static void guru_strides(problem* p) {
  p->batches = pick(0, 2);
  for (int d = 0; d < p->batches; ++d) p->h_n[d] = pick(0, 9) == 0 ? 0 : pick(1, 3);
  random_strides(p, 1);
  random_strides(p, 0);
  const int same = p->kind == C2C || p->kind == R2R;
  if (p->in_place && same) {
    memcpy(p->os, p->is, sizeof p->is);
    memcpy(p->h_os, p->h_is, sizeof p->h_is);
  } else {
    p->in_place = 0;
  }
  /* Negative strides in one dimension only: FFTW 3.3.10's planner may recurse forever on more. */
  if (p->rank != 1 || pick(0, 2) != 0) return;
  p->is[0] = -p->is[0];
  if (p->in_place || pick(0, 1)) p->os[0] = -p->os[0];
}

/* Rows are exact or longer than needed; transforms follow one another or are interleaved. */
static void many_side(problem* p, int input, int packed) {
  int* embed = input ? p->inembed : p->onembed;
  int* strides = input ? p->is : p->os;
  const int interleaved = !packed && pick(0, 1);
  int stride = packed ? 1 : interleaved ? p->h_n[0] + pick(0, 1) : pick(1, 2);
  for (int d = p->rank; d-- > 0;) {
    embed[d] = stored(p, d, input) + (p->embedded ? pick(0, 2) : 0);
    strides[d] = stride;
    stride *= embed[d];
  }
  *(input ? p->h_is : p->h_os) = interleaved ? 1 : stride + (packed ? 0 : pick(0, 2));
}

static void many_strides(problem* p) {
  p->batches = 1;
  p->h_n[0] = pick(0, 9) == 0 ? 0 : pick(1, 4);
  p->embedded = pick(0, 1);
  const int mixed = p->kind == R2C || p->kind == C2R;
  if (mixed && p->in_place) p->embedded = 0;
  many_side(p, 1, mixed && p->in_place);
  many_side(p, 0, mixed && p->in_place);
  if (!p->in_place) return;
  if (!mixed) {
    memcpy(p->onembed, p->inembed, sizeof p->inembed);
    memcpy(p->os, p->is, sizeof p->is);
    p->h_os[0] = p->h_is[0];
    return;
  }
  /* Rows of reals are padded to the length of the complex rows (Fortran must state this). */
  (p->kind == R2C ? p->inembed : p->onembed)[p->rank - 1] = 2 * (p->n[p->rank - 1] / 2 + 1);
  int* reals = p->kind == R2C ? p->is : p->os;
  int* complexes = p->kind == R2C ? p->os : p->is;
  for (int d = 0; d < p->rank - 1; ++d) reals[d] = 2 * complexes[d];
  *(p->kind == R2C ? p->h_is : p->h_os) = 2 * *(p->kind == R2C ? p->h_os : p->h_is);
}

/* Sets row-major strides, which the basic makers use. */
static void basic_strides(problem* p) {
  int in = 1, out = 1;
  const int padded = p->in_place && (p->kind == R2C || p->kind == C2R);
  for (int d = p->rank; d-- > 0;) {
    p->is[d] = in;
    p->os[d] = out;
    const int row = d == p->rank - 1 && padded ? 2 * (p->n[d] / 2 + 1) : 0;
    in *= row != 0 && !complex_side(p, 1) ? row : stored(p, d, 1);
    out *= row != 0 && !complex_side(p, 0) ? row : stored(p, d, 0);
  }
}

/* Returns the place of element `linear` (row-major, batches slowest) of a side, and its index. */
static int place(const problem* p, int linear, int input, int* index) {
  int at = 0;
  for (int d = p->rank; d-- > 0; linear /= stored(p, d, input)) {
    index[d] = linear % stored(p, d, input);
    at += index[d] * (input ? p->is[d] : p->os[d]);
  }
  for (int d = p->batches; d-- > 0; linear /= p->h_n[d]) {
    at += linear % p->h_n[d] * (input ? p->h_is[d] : p->h_os[d]);
  }
  return at;
}

static void set(const problem* p, const arrays* a, int at, double re, double im) {
  if (!complex_side(p, 1)) {
    a->in[at] = (real)re;
  } else if (p->split) {
    a->in[at] = (real)re;
    a->in_i[at] = (real)im;
  } else {
    a->in[2 * at] = (real)re;
    a->in[2 * at + 1] = (real)im;
  }
}

static int elements_of(const problem* p, int input) {
  int elements = 1;
  for (int d = 0; d < p->rank; ++d) elements *= stored(p, d, input);
  for (int d = 0; d < p->batches; ++d) elements *= p->h_n[d];
  return elements;
}

/* Makes the input a spectrum of real data: for others the inverse is not defined. */
static void fill_half_spectrum(const problem* p, const arrays* a) {
  int points = 1, each = 1, index[kMaxRank] = {0};
  for (int d = 0; d < p->rank; ++d) points *= p->n[d], each *= stored(p, d, 1);
  real data[9 * 64];
  for (int i = 0; i < 9 * 64; ++i) data[i] = value();
  for (int i = 0; i < elements_of(p, 1); ++i) {
    const int at = place(p, i, 1, index);
    double re = 0, im = 0;
    for (int j = 0; j < points; ++j) {
      double turns = 0;
      for (int d = p->rank, rest = j; d-- > 0; rest /= p->n[d]) {
        turns += (double)(rest % p->n[d] * index[d] % p->n[d]) / p->n[d];
      }
      re += data[i / each * points + j] * cos(2 * M_PI * turns);
      im -= data[i / each * points + j] * sin(2 * M_PI * turns);
    }
    set(p, a, at, re, im);
  }
}

/* Returns how far a side reaches below its first element. */
static int below(const problem* p, int input) {
  int low = 0;
  for (int d = 0; d < p->rank; ++d) {
    const int stride = input ? p->is[d] : p->os[d];
    if (stride < 0) low -= (stored(p, d, input) - 1) * stride;
  }
  return low;
}

/* Places the arrays in any order and distance. */
static void random_places(problem* p) {
  int slots[4] = {0, 1, 2, 3};
  for (int i = 4; i-- > 1;) {
    const int other = pick(0, i), kept = slots[i];
    slots[i] = slots[other];
    slots[other] = kept;
  }
  for (int i = 0; i < 4; ++i) p->at[i] = slots[i] * (kReals / 4) + pick(0, 20);
}

static arrays new_arrays(const problem* p) {
  arrays a = {.block = X(malloc)(kReals * sizeof(real))};
  for (int i = 0; i < kReals; ++i) a.block[i] = kPoison;
  const int wide_in = complex_side(p, 1) && !p->split ? 2 : 1;
  const int wide_out = complex_side(p, 0) && !p->split ? 2 : 1;
  real* at[4];
  for (int i = 0; i < 4; ++i) at[i] = a.block + p->at[i];
  a.in = at[0] + below(p, 1) * wide_in;
  a.in_i = at[1] + below(p, 1);
  a.out = p->in_place ? a.in : at[2] + below(p, 0) * wide_out;
  a.out_i = p->in_place ? a.in_i : at[3] + below(p, 0);
  if (reach(p, 1) * wide_in > kReals / 4 - 20 || reach(p, 0) * wide_out > kReals / 4 - 20) {
    printf("FAILED: %d and %d elements are too many\n", reach(p, 1), reach(p, 0));
    exit(2);
  }
  int index[kMaxRank];
  if (p->kind == C2R) {
    fill_half_spectrum(p, &a);
  } else {
    const int elements = elements_of(p, 1);
    for (int i = 0; i < elements; ++i) set(p, &a, place(p, i, 1, index), value(), value());
  }
  return a;
}

/* The input is undefined after c2r, and after any transform with FFTW_DESTROY_INPUT. Clears it but
 * keeps the results. */
static void wipe_input(const problem* p, const arrays* a) {
  int index[kMaxRank];
  const int inputs = elements_of(p, 1), outputs = elements_of(p, 0);
  real* results = malloc((size_t)(outputs + 1) * sizeof(real));
  const int keep = p->in_place && p->kind == C2R;
  for (int i = 0; keep && i < outputs; ++i) results[i] = a->out[place(p, i, 0, index)];
  for (int i = 0; i < inputs; ++i) set(p, a, place(p, i, 1, index), kPoison, kPoison);
  for (int i = 0; keep && i < outputs; ++i) a->out[place(p, i, 0, index)] = results[i];
  free(results);
}

static void show(const char* name, const problem* p, const arrays* a) {
  printf("%s", name);
  int poison = 0;
  if (p->kind == C2R || (!p->in_place && (p->flags & FFTW_DESTROY_INPUT) != 0)) wipe_input(p, a);
  for (int i = 0; i < kReals; ++i) {
    if (a->block[i] == kPoison) {
      ++poison;
      continue;
    }
    printf(" @%d %.17g", i, (double)a->block[i]);
  }
  printf(" poison %d\n", poison);
}

#include "fftw_random_makers.h"

/* Executes on the plan's arrays and twice on others, then destroys the plan. */
static void run(const char* maker, problem* p, int fortran) {
  char name[80];
  random_places(p);
  arrays own = new_arrays(p);
  X(plan) plan = fortran ? make_fortran(maker, p, &own) : make(maker, p, &own);
  if (plan == NULL) {
    printf("%s NULL\n", maker);
    ++g_nulls;
    X(free)(own.block);
    return;
  }
  ++g_made;
  for (int i = 0; i < 2; ++i) {
    if (!p->split) random_places(p); /* the halves of split arrays keep their distance */
    arrays other = new_arrays(p);
    if (fortran) {
      execute_fortran(plan, p, &other, i);
    } else {
      execute_new(plan, p, &other);
    }
    snprintf(name, sizeof name, "%s%s.new", maker, fortran ? "_" : "");
    show(name, p, &other);
    X(free)(other.block);
  }
  if (fortran) {
    F(execute_)(&plan);
  } else {
    X(execute)(plan);
  }
  snprintf(name, sizeof name, "%s%s.own", maker, fortran ? "_" : "");
  show(name, p, &own);
  if (fortran) {
    F(destroy_plan__)(&plan);
  } else {
    X(destroy_plan)(plan);
  }
  X(free)(own.block);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned long long seed = strtoull(argv[1], NULL, 10);
  const int count = atoi(argv[2]);
  for (int which = 0; which < kMakers; ++which) {
    if (argc > 3 && strcmp(argv[3], kMakerNames[which]) != 0) continue;
    g_state = seed + 1000003ULL * (unsigned)which;
    pick(0, 1);
    for (int i = 0; i < count; ++i) {
      problem p = problem_for(kMakerNames[which]);
      run(kMakerNames[which], &p, 0);
      if (strstr(kMakerNames[which], "guru64") != NULL) continue; /* has no Fortran form */
      p = problem_for(kMakerNames[which]);
      run(kMakerNames[which], &p, 1);
    }
  }
  printf("made plans=%d nulls=%d\n", g_made, g_nulls);
  int (*counted)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "ob_standin_count");
  if (counted != NULL) {
    printf("count decide=%d ahead=%d execute=%d local=%d\n", counted("decide"), counted("ahead"),
           counted("execute"), counted("local"));
  }
  return 0;
}
