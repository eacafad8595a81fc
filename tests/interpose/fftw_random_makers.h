/* The calls of fftw_random.c: every maker and every new-array execution, in C and legacy Fortran.
 */

#pragma once

/* FFTW's legacy Fortran interface: all arguments are references. */
#define FORTRAN_PART(name, ...) \
  void F(name##_)(__VA_ARGS__); \
  void F(name##__)(__VA_ARGS__)
#define DIMS int*, int*, int*, int*, int*, int*, int*, int*
FORTRAN_PART(plan_dft, X(plan) *, int*, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_dft_1d, X(plan) *, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_dft_2d, X(plan) *, int*, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_dft_3d, X(plan) *, int*, int*, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_dft_r2c, X(plan) *, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_r2c_1d, X(plan) *, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_r2c_2d, X(plan) *, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_r2c_3d, X(plan) *, int*, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_c2r, X(plan) *, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_c2r_1d, X(plan) *, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_c2r_2d, X(plan) *, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_dft_c2r_3d, X(plan) *, int*, int*, int*, real*, real*, int*);
FORTRAN_PART(plan_r2r, X(plan) *, int*, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_r2r_1d, X(plan) *, int*, real*, real*, int*, int*);
FORTRAN_PART(plan_r2r_2d, X(plan) *, int*, int*, real*, real*, int*, int*, int*);
FORTRAN_PART(plan_r2r_3d, X(plan) *, int*, int*, int*, real*, real*, int*, int*, int*, int*);
#define MANY int*, int*, int*, real*, int*, int*, int*, real*, int*, int*, int*
FORTRAN_PART(plan_many_dft, X(plan) *, MANY, int*, int*);
FORTRAN_PART(plan_many_dft_r2c, X(plan) *, MANY, int*);
FORTRAN_PART(plan_many_dft_c2r, X(plan) *, MANY, int*);
FORTRAN_PART(plan_many_r2r, X(plan) *, MANY, int*, int*);
FORTRAN_PART(plan_guru_dft, X(plan) *, DIMS, real*, real*, int*, int*);
FORTRAN_PART(plan_guru_dft_r2c, X(plan) *, DIMS, real*, real*, int*);
FORTRAN_PART(plan_guru_dft_c2r, X(plan) *, DIMS, real*, real*, int*);
FORTRAN_PART(plan_guru_r2r, X(plan) *, DIMS, real*, real*, int*, int*);
FORTRAN_PART(plan_guru_split_dft, X(plan) *, DIMS, real*, real*, real*, real*, int*);
FORTRAN_PART(plan_guru_split_dft_r2c, X(plan) *, DIMS, real*, real*, real*, int*);
FORTRAN_PART(plan_guru_split_dft_c2r, X(plan) *, DIMS, real*, real*, real*, int*);
FORTRAN_PART(execute, X(plan) *);
FORTRAN_PART(execute_dft, X(plan) *, real*, real*);
FORTRAN_PART(execute_dft_r2c, X(plan) *, real*, real*);
FORTRAN_PART(execute_dft_c2r, X(plan) *, real*, real*);
FORTRAN_PART(execute_r2r, X(plan) *, real*, real*);
FORTRAN_PART(execute_split_dft, X(plan) *, real*, real*, real*, real*);
FORTRAN_PART(execute_split_dft_r2c, X(plan) *, real*, real*, real*);
FORTRAN_PART(execute_split_dft_c2r, X(plan) *, real*, real*, real*);
FORTRAN_PART(destroy_plan, X(plan) *);

static const char* const kMakerNames[] = {"plan_dft_1d",
                                          "plan_dft_2d",
                                          "plan_dft_3d",
                                          "plan_dft",
                                          "plan_many_dft",
                                          "plan_guru_dft",
                                          "plan_guru_split_dft",
                                          "plan_guru64_dft",
                                          "plan_guru64_split_dft",
                                          "plan_dft_r2c_1d",
                                          "plan_dft_r2c_2d",
                                          "plan_dft_r2c_3d",
                                          "plan_dft_r2c",
                                          "plan_many_dft_r2c",
                                          "plan_guru_dft_r2c",
                                          "plan_guru_split_dft_r2c",
                                          "plan_guru64_dft_r2c",
                                          "plan_guru64_split_dft_r2c",
                                          "plan_dft_c2r_1d",
                                          "plan_dft_c2r_2d",
                                          "plan_dft_c2r_3d",
                                          "plan_dft_c2r",
                                          "plan_many_dft_c2r",
                                          "plan_guru_dft_c2r",
                                          "plan_guru_split_dft_c2r",
                                          "plan_guru64_dft_c2r",
                                          "plan_guru64_split_dft_c2r",
                                          "plan_r2r_1d",
                                          "plan_r2r_2d",
                                          "plan_r2r_3d",
                                          "plan_r2r",
                                          "plan_many_r2r",
                                          "plan_guru_r2r",
                                          "plan_guru64_r2r"};
enum { kMakers = sizeof kMakerNames / sizeof kMakerNames[0] };

static problem problem_for(const char* maker) {
  const int is_r2r = strstr(maker, "r2r") != NULL;
  const enum kind kind = strstr(maker, "r2c")   ? R2C
                         : strstr(maker, "c2r") ? C2R
                         : is_r2r               ? R2R
                                                : C2C;
  const char* last = maker + strlen(maker) - 1;
  const int rank = *last == 'd' ? last[-1] - '0' : pick(1, 3);
  problem p = random_problem(kind, rank);
  p.split = strstr(maker, "split") != NULL;
  if (strstr(maker, "guru")) {
    guru_strides(&p);
  } else if (strstr(maker, "many")) {
    many_strides(&p);
  } else {
    basic_strides(&p);
  }
  return p;
}

static X(plan) make_basic(const char* maker, problem* p, arrays* a) {
  const unsigned flags = (unsigned)p->flags;
  X(r2r_kind) kinds[kMaxRank];
  for (int d = 0; d < p->rank; ++d) kinds[d] = (X(r2r_kind))p->kinds[d];
  if (strcmp(maker, "plan_dft_1d") == 0) {
    return X(plan_dft_1d)(p->n[0], (cplx*)a->in, (cplx*)a->out, p->sign, flags);
  }
  if (strcmp(maker, "plan_dft_2d") == 0) {
    return X(plan_dft_2d)(p->n[0], p->n[1], (cplx*)a->in, (cplx*)a->out, p->sign, flags);
  }
  if (strcmp(maker, "plan_dft_3d") == 0) {
    return X(plan_dft_3d)(p->n[0], p->n[1], p->n[2], (cplx*)a->in, (cplx*)a->out, p->sign, flags);
  }
  if (strcmp(maker, "plan_dft") == 0) {
    return X(plan_dft)(p->rank, p->n, (cplx*)a->in, (cplx*)a->out, p->sign, flags);
  }
  if (strcmp(maker, "plan_dft_r2c_1d") == 0) {
    return X(plan_dft_r2c_1d)(p->n[0], a->in, (cplx*)a->out, flags);
  }
  if (strcmp(maker, "plan_dft_r2c_2d") == 0) {
    return X(plan_dft_r2c_2d)(p->n[0], p->n[1], a->in, (cplx*)a->out, flags);
  }
  if (strcmp(maker, "plan_dft_r2c_3d") == 0) {
    return X(plan_dft_r2c_3d)(p->n[0], p->n[1], p->n[2], a->in, (cplx*)a->out, flags);
  }
  if (strcmp(maker, "plan_dft_r2c") == 0) {
    return X(plan_dft_r2c)(p->rank, p->n, a->in, (cplx*)a->out, flags);
  }
  if (strcmp(maker, "plan_dft_c2r_1d") == 0) {
    return X(plan_dft_c2r_1d)(p->n[0], (cplx*)a->in, a->out, flags);
  }
  if (strcmp(maker, "plan_dft_c2r_2d") == 0) {
    return X(plan_dft_c2r_2d)(p->n[0], p->n[1], (cplx*)a->in, a->out, flags);
  }
  if (strcmp(maker, "plan_dft_c2r_3d") == 0) {
    return X(plan_dft_c2r_3d)(p->n[0], p->n[1], p->n[2], (cplx*)a->in, a->out, flags);
  }
  if (strcmp(maker, "plan_dft_c2r") == 0) {
    return X(plan_dft_c2r)(p->rank, p->n, (cplx*)a->in, a->out, flags);
  }
  if (strcmp(maker, "plan_r2r_1d") == 0) {
    return X(plan_r2r_1d)(p->n[0], a->in, a->out, p->kinds[0], flags);
  }
  if (strcmp(maker, "plan_r2r_2d") == 0) {
    return X(plan_r2r_2d)(p->n[0], p->n[1], a->in, a->out, p->kinds[0], p->kinds[1], flags);
  }
  if (strcmp(maker, "plan_r2r_3d") == 0) {
    return X(plan_r2r_3d)(p->n[0], p->n[1], p->n[2], a->in, a->out, p->kinds[0], p->kinds[1],
                          p->kinds[2], flags);
  }
  if (strcmp(maker, "plan_r2r") == 0) {
    return X(plan_r2r)(p->rank, p->n, a->in, a->out, kinds, flags);
  }
  return NULL;
}

static X(plan) make_many(const char* maker, problem* p, arrays* a) {
  const unsigned flags = (unsigned)p->flags;
  X(r2r_kind) kinds[kMaxRank];
  for (int d = 0; d < p->rank; ++d) kinds[d] = (X(r2r_kind))p->kinds[d];
  if (strcmp(maker, "plan_many_dft") == 0) {
    return X(plan_many_dft)(p->rank, p->n, p->h_n[0], (cplx*)a->in, p->embedded ? p->inembed : NULL,
                            p->is[p->rank - 1], p->h_is[0], (cplx*)a->out,
                            p->embedded ? p->onembed : NULL, p->os[p->rank - 1], p->h_os[0],
                            p->sign, flags);
  }
  if (strcmp(maker, "plan_many_dft_r2c") == 0) {
    return X(plan_many_dft_r2c)(p->rank, p->n, p->h_n[0], a->in, p->embedded ? p->inembed : NULL,
                                p->is[p->rank - 1], p->h_is[0], (cplx*)a->out,
                                p->embedded ? p->onembed : NULL, p->os[p->rank - 1], p->h_os[0],
                                flags);
  }
  if (strcmp(maker, "plan_many_dft_c2r") == 0) {
    return X(plan_many_dft_c2r)(
        p->rank, p->n, p->h_n[0], (cplx*)a->in, p->embedded ? p->inembed : NULL, p->is[p->rank - 1],
        p->h_is[0], a->out, p->embedded ? p->onembed : NULL, p->os[p->rank - 1], p->h_os[0], flags);
  }
  if (strcmp(maker, "plan_many_r2r") == 0) {
    return X(plan_many_r2r)(p->rank, p->n, p->h_n[0], a->in, p->embedded ? p->inembed : NULL,
                            p->is[p->rank - 1], p->h_is[0], a->out, p->embedded ? p->onembed : NULL,
                            p->os[p->rank - 1], p->h_os[0], kinds, flags);
  }
  return NULL;
}

static X(plan) make_guru(const char* maker, problem* p, arrays* a) {
  const unsigned flags = (unsigned)p->flags;
  X(r2r_kind) kinds[kMaxRank];
  for (int d = 0; d < p->rank; ++d) kinds[d] = (X(r2r_kind))p->kinds[d];
  X(iodim) dims[kMaxRank], batch[2];
  for (int d = 0; d < p->rank; ++d) dims[d] = (X(iodim)){p->n[d], p->is[d], p->os[d]};
  for (int d = 0; d < p->batches; ++d) {
    batch[d] = (X(iodim)){p->h_n[d], p->h_is[d], p->h_os[d]};
  }
  if (strcmp(maker, "plan_guru_dft") == 0) {
    return X(plan_guru_dft)(p->rank, dims, p->batches, batch, (cplx*)a->in, (cplx*)a->out, p->sign,
                            flags);
  }
  if (strcmp(maker, "plan_guru_split_dft") == 0) {
    return X(plan_guru_split_dft)(p->rank, dims, p->batches, batch, a->in, a->in_i, a->out,
                                  a->out_i, flags);
  }
  if (strcmp(maker, "plan_guru_dft_r2c") == 0) {
    return X(plan_guru_dft_r2c)(p->rank, dims, p->batches, batch, a->in, (cplx*)a->out, flags);
  }
  if (strcmp(maker, "plan_guru_split_dft_r2c") == 0) {
    return X(plan_guru_split_dft_r2c)(p->rank, dims, p->batches, batch, a->in, a->out, a->out_i,
                                      flags);
  }
  if (strcmp(maker, "plan_guru_dft_c2r") == 0) {
    return X(plan_guru_dft_c2r)(p->rank, dims, p->batches, batch, (cplx*)a->in, a->out, flags);
  }
  if (strcmp(maker, "plan_guru_split_dft_c2r") == 0) {
    return X(plan_guru_split_dft_c2r)(p->rank, dims, p->batches, batch, a->in, a->in_i, a->out,
                                      flags);
  }
  if (strcmp(maker, "plan_guru_r2r") == 0) {
    return X(plan_guru_r2r)(p->rank, dims, p->batches, batch, a->in, a->out, kinds, flags);
  }
  return NULL;
}

static X(plan) make_guru64(const char* maker, problem* p, arrays* a) {
  const unsigned flags = (unsigned)p->flags;
  X(r2r_kind) kinds[kMaxRank];
  for (int d = 0; d < p->rank; ++d) kinds[d] = (X(r2r_kind))p->kinds[d];
  X(iodim64) dims64[kMaxRank], batch64[2];
  for (int d = 0; d < p->rank; ++d) dims64[d] = (X(iodim64)){p->n[d], p->is[d], p->os[d]};
  for (int d = 0; d < p->batches; ++d) {
    batch64[d] = (X(iodim64)){p->h_n[d], p->h_is[d], p->h_os[d]};
  }
  if (strcmp(maker, "plan_guru64_dft") == 0) {
    return X(plan_guru64_dft)(p->rank, dims64, p->batches, batch64, (cplx*)a->in, (cplx*)a->out,
                              p->sign, flags);
  }
  if (strcmp(maker, "plan_guru64_split_dft") == 0) {
    return X(plan_guru64_split_dft)(p->rank, dims64, p->batches, batch64, a->in, a->in_i, a->out,
                                    a->out_i, flags);
  }
  if (strcmp(maker, "plan_guru64_dft_r2c") == 0) {
    return X(plan_guru64_dft_r2c)(p->rank, dims64, p->batches, batch64, a->in, (cplx*)a->out,
                                  flags);
  }
  if (strcmp(maker, "plan_guru64_split_dft_r2c") == 0) {
    return X(plan_guru64_split_dft_r2c)(p->rank, dims64, p->batches, batch64, a->in, a->out,
                                        a->out_i, flags);
  }
  if (strcmp(maker, "plan_guru64_dft_c2r") == 0) {
    return X(plan_guru64_dft_c2r)(p->rank, dims64, p->batches, batch64, (cplx*)a->in, a->out,
                                  flags);
  }
  if (strcmp(maker, "plan_guru64_split_dft_c2r") == 0) {
    return X(plan_guru64_split_dft_c2r)(p->rank, dims64, p->batches, batch64, a->in, a->in_i,
                                        a->out, flags);
  }
  if (strcmp(maker, "plan_guru64_r2r") == 0) {
    return X(plan_guru64_r2r)(p->rank, dims64, p->batches, batch64, a->in, a->out, kinds, flags);
  }
  return NULL;
}

static X(plan) make(const char* maker, problem* p, arrays* a) {
  if (strstr(maker, "guru64")) return make_guru64(maker, p, a);
  if (strstr(maker, "guru")) return make_guru(maker, p, a);
  if (strstr(maker, "many")) return make_many(maker, p, a);
  return make_basic(maker, p, a);
}

/* Lengths, embeddings and kinds in Fortran's order: the fastest dimension is first. */
typedef struct {
  int n[kMaxRank], inembed[kMaxRank], onembed[kMaxRank], kinds[kMaxRank];
} reversed;

static reversed reverse(const problem* p) {
  reversed r;
  for (int d = 0; d < p->rank; ++d) {
    const int from = p->rank - 1 - d;
    r.n[d] = p->n[from];
    r.inembed[d] = p->inembed[from];
    r.onembed[d] = p->onembed[from];
    r.kinds[d] = p->kinds[from];
  }
  return r;
}

static X(plan) fortran_basic(const char* maker, problem* p, arrays* a) {
  X(plan) plan = NULL;
  int flags = p->flags;
  reversed r = reverse(p);
  if (strcmp(maker, "plan_dft_1d") == 0)
    F(plan_dft_1d_)(&plan, &p->n[0], a->in, a->out, &p->sign, &flags);
  if (strcmp(maker, "plan_dft_2d") == 0)
    F(plan_dft_2d_)(&plan, &p->n[1], &p->n[0], a->in, a->out, &p->sign, &flags);
  if (strcmp(maker, "plan_dft_3d") == 0)
    F(plan_dft_3d_)(&plan, &p->n[2], &p->n[1], &p->n[0], a->in, a->out, &p->sign, &flags);
  if (strcmp(maker, "plan_dft") == 0)
    F(plan_dft_)(&plan, &p->rank, r.n, a->in, a->out, &p->sign, &flags);
  if (strcmp(maker, "plan_dft_r2c_1d") == 0)
    F(plan_dft_r2c_1d_)(&plan, &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_r2c_2d") == 0)
    F(plan_dft_r2c_2d_)(&plan, &p->n[1], &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_r2c_3d") == 0)
    F(plan_dft_r2c_3d_)(&plan, &p->n[2], &p->n[1], &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_r2c") == 0)
    F(plan_dft_r2c_)(&plan, &p->rank, r.n, a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_c2r_1d") == 0)
    F(plan_dft_c2r_1d_)(&plan, &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_c2r_2d") == 0)
    F(plan_dft_c2r_2d_)(&plan, &p->n[1], &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_c2r_3d") == 0)
    F(plan_dft_c2r_3d_)(&plan, &p->n[2], &p->n[1], &p->n[0], a->in, a->out, &flags);
  if (strcmp(maker, "plan_dft_c2r") == 0)
    F(plan_dft_c2r_)(&plan, &p->rank, r.n, a->in, a->out, &flags);
  if (strcmp(maker, "plan_r2r_1d") == 0)
    F(plan_r2r_1d_)(&plan, &p->n[0], a->in, a->out, &p->kinds[0], &flags);
  if (strcmp(maker, "plan_r2r_2d") == 0)
    F(plan_r2r_2d_)(&plan, &p->n[1], &p->n[0], a->in, a->out, &p->kinds[1], &p->kinds[0], &flags);
  if (strcmp(maker, "plan_r2r_3d") == 0) F(plan_r2r_3d_)
  (&plan, &p->n[2], &p->n[1], &p->n[0], a->in, a->out, &p->kinds[2], &p->kinds[1], &p->kinds[0],
   &flags);
  if (strcmp(maker, "plan_r2r") == 0)
    F(plan_r2r_)(&plan, &p->rank, r.n, a->in, a->out, r.kinds, &flags);
  return plan;
}

static X(plan) fortran_many(const char* maker, problem* p, arrays* a) {
  X(plan) plan = NULL;
  int flags = p->flags;
  reversed r = reverse(p);
  if (strcmp(maker, "plan_many_dft") == 0) F(plan_many_dft_)
  (&plan, &p->rank, r.n, p->h_n, a->in, r.inembed, &p->is[p->rank - 1], p->h_is, a->out, r.onembed,
   &p->os[p->rank - 1], p->h_os, &p->sign, &flags);
  if (strcmp(maker, "plan_many_dft_r2c") == 0) F(plan_many_dft_r2c_)
  (&plan, &p->rank, r.n, p->h_n, a->in, r.inembed, &p->is[p->rank - 1], p->h_is, a->out, r.onembed,
   &p->os[p->rank - 1], p->h_os, &flags);
  if (strcmp(maker, "plan_many_dft_c2r") == 0) F(plan_many_dft_c2r_)
  (&plan, &p->rank, r.n, p->h_n, a->in, r.inembed, &p->is[p->rank - 1], p->h_is, a->out, r.onembed,
   &p->os[p->rank - 1], p->h_os, &flags);
  if (strcmp(maker, "plan_many_r2r") == 0) F(plan_many_r2r_)
  (&plan, &p->rank, r.n, p->h_n, a->in, r.inembed, &p->is[p->rank - 1], p->h_is, a->out, r.onembed,
   &p->os[p->rank - 1], p->h_os, r.kinds, &flags);
  return plan;
}

static X(plan) fortran_guru(const char* maker, problem* p, arrays* a) {
  X(plan) plan = NULL;
  int flags = p->flags;
  reversed r = reverse(p);
  if (strcmp(maker, "plan_guru_dft") == 0) F(plan_guru_dft_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->out,
   &p->sign, &flags);
  if (strcmp(maker, "plan_guru_split_dft") == 0) F(plan_guru_split_dft_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->in_i,
   a->out, a->out_i, &flags);
  if (strcmp(maker, "plan_guru_dft_r2c") == 0) F(plan_guru_dft_r2c_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->out,
   &flags);
  if (strcmp(maker, "plan_guru_split_dft_r2c") == 0) F(plan_guru_split_dft_r2c_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->out,
   a->out_i, &flags);
  if (strcmp(maker, "plan_guru_dft_c2r") == 0) F(plan_guru_dft_c2r_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->out,
   &flags);
  if (strcmp(maker, "plan_guru_split_dft_c2r") == 0) F(plan_guru_split_dft_c2r_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->in_i,
   a->out, &flags);
  if (strcmp(maker, "plan_guru_r2r") == 0) F(plan_guru_r2r_)
  (&plan, &p->rank, p->n, p->is, p->os, &p->batches, p->h_n, p->h_is, p->h_os, a->in, a->out,
   r.kinds, &flags);
  return plan;
}

static X(plan) make_fortran(const char* maker, problem* p, arrays* a) {
  if (strstr(maker, "guru")) return fortran_guru(maker, p, a);
  if (strstr(maker, "many")) return fortran_many(maker, p, a);
  return fortran_basic(maker, p, a);
}

static void execute_new(X(plan) plan, const problem* p, const arrays* a) {
  if (p->split) {
    if (p->kind == C2C) X(execute_split_dft)(plan, a->in, a->in_i, a->out, a->out_i);
    if (p->kind == R2C) X(execute_split_dft_r2c)(plan, a->in, a->out, a->out_i);
    if (p->kind == C2R) X(execute_split_dft_c2r)(plan, a->in, a->in_i, a->out);
    return;
  }
  if (p->kind == C2C) X(execute_dft)(plan, (cplx*)a->in, (cplx*)a->out);
  if (p->kind == R2C) X(execute_dft_r2c)(plan, a->in, (cplx*)a->out);
  if (p->kind == C2R) X(execute_dft_c2r)(plan, (cplx*)a->in, a->out);
  if (p->kind == R2R) X(execute_r2r)(plan, a->in, a->out);
}

static void execute_fortran(X(plan) plan, const problem* p, const arrays* a, int twice) {
#define BOTH(name, ...) (twice ? F(name##__)(__VA_ARGS__) : F(name##_)(__VA_ARGS__))
  if (p->split) {
    if (p->kind == C2C) BOTH(execute_split_dft, &plan, a->in, a->in_i, a->out, a->out_i);
    if (p->kind == R2C) BOTH(execute_split_dft_r2c, &plan, a->in, a->out, a->out_i);
    if (p->kind == C2R) BOTH(execute_split_dft_c2r, &plan, a->in, a->in_i, a->out);
    return;
  }
  if (p->kind == C2C) BOTH(execute_dft, &plan, a->in, a->out);
  if (p->kind == R2C) BOTH(execute_dft_r2c, &plan, a->in, a->out);
  if (p->kind == C2R) BOTH(execute_dft_c2r, &plan, a->in, a->out);
  if (p->kind == R2R) BOTH(execute_r2r, &plan, a->in, a->out);
}
