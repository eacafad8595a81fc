#pragma once
// The functions of cuSOLVER for some rows of LAPACK.
//
// OB_CUSOLVER_ROWS(X) has X(routine, query of the workspace, function). OB_CUSOLVER_PLAIN_ROWS(X)
// has the rows without workspace. row_parameters.hpp makes the parameters. Functions for any type
// take 64-bit dimensions, functions for one type take 32-bit ones.

#define OB_CUSOLVER_ANY_ROWS(X, p)                           \
  X(p##geqrf, cusolverDnXgeqrf_bufferSize, cusolverDnXgeqrf) \
  X(p##gesvd, cusolverDnXgesvd_bufferSize, cusolverDnXgesvd) \
  X(p##getrf, cusolverDnXgetrf_bufferSize, cusolverDnXgetrf) \
  X(p##potrf, cusolverDnXpotrf_bufferSize, cusolverDnXpotrf) \
  X(p##sytrs, cusolverDnXsytrs_bufferSize, cusolverDnXsytrs) \
  X(p##trtri, cusolverDnXtrtri_bufferSize, cusolverDnXtrtri)

#define OB_CUSOLVER_TYPED_ROWS(X, p, P)                              \
  X(p##gebrd, cusolverDn##P##gebrd_bufferSize, cusolverDn##P##gebrd) \
  X(p##potri, cusolverDn##P##potri_bufferSize, cusolverDn##P##potri) \
  X(p##sytrf, cusolverDn##P##sytrf_bufferSize, cusolverDn##P##sytrf)

#define OB_CUSOLVER_REAL_ROWS(X, p, P)                               \
  X(p##orgqr, cusolverDn##P##orgqr_bufferSize, cusolverDn##P##orgqr) \
  X(p##ormqr, cusolverDn##P##ormqr_bufferSize, cusolverDn##P##ormqr) \
  X(p##syev, cusolverDnXsyevd_bufferSize, cusolverDnXsyevd)          \
  X(p##syevd, cusolverDnXsyevd_bufferSize, cusolverDnXsyevd)         \
  X(p##sygv, cusolverDn##P##sygvd_bufferSize, cusolverDn##P##sygvd)  \
  X(p##sygvd, cusolverDn##P##sygvd_bufferSize, cusolverDn##P##sygvd) \
  X(p##sytrd, cusolverDn##P##sytrd_bufferSize, cusolverDn##P##sytrd)

#define OB_CUSOLVER_COMPLEX_ROWS(X, p, P)                            \
  X(p##ungqr, cusolverDn##P##ungqr_bufferSize, cusolverDn##P##ungqr) \
  X(p##unmqr, cusolverDn##P##unmqr_bufferSize, cusolverDn##P##unmqr) \
  X(p##heev, cusolverDnXsyevd_bufferSize, cusolverDnXsyevd)          \
  X(p##heevd, cusolverDnXsyevd_bufferSize, cusolverDnXsyevd)         \
  X(p##hegv, cusolverDn##P##hegvd_bufferSize, cusolverDn##P##hegvd)  \
  X(p##hegvd, cusolverDn##P##hegvd_bufferSize, cusolverDn##P##hegvd) \
  X(p##hetrd, cusolverDn##P##hetrd_bufferSize, cusolverDn##P##hetrd)

#define OB_CUSOLVER_ROWS(X)         \
  OB_CUSOLVER_ANY_ROWS(X, s)        \
  OB_CUSOLVER_ANY_ROWS(X, d)        \
  OB_CUSOLVER_ANY_ROWS(X, c)        \
  OB_CUSOLVER_ANY_ROWS(X, z)        \
  OB_CUSOLVER_TYPED_ROWS(X, s, S)   \
  OB_CUSOLVER_TYPED_ROWS(X, d, D)   \
  OB_CUSOLVER_TYPED_ROWS(X, c, C)   \
  OB_CUSOLVER_TYPED_ROWS(X, z, Z)   \
  OB_CUSOLVER_REAL_ROWS(X, s, S)    \
  OB_CUSOLVER_REAL_ROWS(X, d, D)    \
  OB_CUSOLVER_COMPLEX_ROWS(X, c, C) \
  OB_CUSOLVER_COMPLEX_ROWS(X, z, Z)

#define OB_CUSOLVER_PLAIN_ROWS_OF(X, p) \
  X(p##getrs, cusolverDnXgetrs)         \
  X(p##potrs, cusolverDnXpotrs)
#define OB_CUSOLVER_PLAIN_ROWS(X) \
  OB_CUSOLVER_PLAIN_ROWS_OF(X, s) \
  OB_CUSOLVER_PLAIN_ROWS_OF(X, d) \
  OB_CUSOLVER_PLAIN_ROWS_OF(X, c) \
  OB_CUSOLVER_PLAIN_ROWS_OF(X, z)

/// A list that has each function once: X(function).
#define OB_CUSOLVER_ANY_FUNCTIONS(X) \
  X(cusolverDnXgeqrf)                \
  X(cusolverDnXgeqrf_bufferSize)     \
  X(cusolverDnXgesvd)                \
  X(cusolverDnXgesvd_bufferSize)     \
  X(cusolverDnXgetrf)                \
  X(cusolverDnXgetrf_bufferSize)     \
  X(cusolverDnXgetrs)                \
  X(cusolverDnXpotrf)                \
  X(cusolverDnXpotrf_bufferSize)     \
  X(cusolverDnXpotrs)                \
  X(cusolverDnXsyevd)                \
  X(cusolverDnXsyevd_bufferSize)     \
  X(cusolverDnXsytrs)                \
  X(cusolverDnXsytrs_bufferSize) X(cusolverDnXtrtri) X(cusolverDnXtrtri_bufferSize)
#define OB_CUSOLVER_TYPED_FUNCTIONS(X, P) \
  X(cusolverDn##P##gebrd)                 \
  X(cusolverDn##P##gebrd_bufferSize)      \
  X(cusolverDn##P##potri)                 \
  X(cusolverDn##P##potri_bufferSize) X(cusolverDn##P##sytrf) X(cusolverDn##P##sytrf_bufferSize)
#define OB_CUSOLVER_REAL_FUNCTIONS(X, P) \
  X(cusolverDn##P##orgqr)                \
  X(cusolverDn##P##orgqr_bufferSize)     \
  X(cusolverDn##P##ormqr)                \
  X(cusolverDn##P##ormqr_bufferSize)     \
  X(cusolverDn##P##sygvd)                \
  X(cusolverDn##P##sygvd_bufferSize) X(cusolverDn##P##sytrd) X(cusolverDn##P##sytrd_bufferSize)
#define OB_CUSOLVER_COMPLEX_FUNCTIONS(X, P) \
  X(cusolverDn##P##ungqr)                   \
  X(cusolverDn##P##ungqr_bufferSize)        \
  X(cusolverDn##P##unmqr)                   \
  X(cusolverDn##P##unmqr_bufferSize)        \
  X(cusolverDn##P##hegvd)                   \
  X(cusolverDn##P##hegvd_bufferSize) X(cusolverDn##P##hetrd) X(cusolverDn##P##hetrd_bufferSize)
#define OB_CUSOLVER_ROW_FUNCTIONS(X)  \
  OB_CUSOLVER_ANY_FUNCTIONS(X)        \
  OB_CUSOLVER_TYPED_FUNCTIONS(X, S)   \
  OB_CUSOLVER_TYPED_FUNCTIONS(X, D)   \
  OB_CUSOLVER_TYPED_FUNCTIONS(X, C)   \
  OB_CUSOLVER_TYPED_FUNCTIONS(X, Z)   \
  OB_CUSOLVER_REAL_FUNCTIONS(X, S)    \
  OB_CUSOLVER_REAL_FUNCTIONS(X, D)    \
  OB_CUSOLVER_COMPLEX_FUNCTIONS(X, C) \
  OB_CUSOLVER_COMPLEX_FUNCTIONS(X, Z)
